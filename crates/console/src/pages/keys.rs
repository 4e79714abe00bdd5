//! Keys: of the API, of the signature, and the one webhook URL of the console.
