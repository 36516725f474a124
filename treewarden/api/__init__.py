"""What ``import treewarden`` offers: the jobs that commands do, for data frames and fitted estimators."""
