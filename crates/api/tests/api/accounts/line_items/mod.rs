mod changes;
mod get;
