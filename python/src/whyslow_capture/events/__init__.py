"""The events tier: how long each phase of a sampled step took, by the GPU's clock if the job uses one."""
