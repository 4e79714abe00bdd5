//! The engine seen from outside.
#![cfg(test)]

mod calculators;
mod delinquent;
mod example;
mod foundations;
mod interest;
mod late;
mod month;
mod plan;
mod properties;
mod support;
mod surplus;
mod waterfall;
