//! Finding anything: by id, by name, by what a page is called.
