mod files;
mod hostile;
