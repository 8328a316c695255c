"""Windows of torch.profiler that cannot hurt the job: scheduled or on demand, within a budget, compressed aside."""
