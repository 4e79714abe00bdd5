//! The engine seen from outside.
#![cfg(test)]

mod properties;
