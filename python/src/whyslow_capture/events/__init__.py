"""The events tier: how long each phase of sampled steps took, on the device's own clock where there is one."""
