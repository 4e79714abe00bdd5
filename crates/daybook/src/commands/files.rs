//! Files named on the command line.

use super::Failure;
use std::fs;
use std::path::Path;

/// Refuses an output file that is also an input.
pub fn must_not_be(output: &Path, flag: &str, inputs: &[&Path]) -> Result<(), Failure> {
    let Ok(output_is) = fs::canonicalize(output) else { return Ok(()) };
    let is_output = |input: &&&Path| fs::canonicalize(input).is_ok_and(|input_is| input_is == output_is);
    match inputs.iter().find(is_output) {
        Some(_) => {
            Err(Failure::Failed(format!("{flag}: {} is an input file and must not be overwritten", output.display())))
        }
        None => Ok(()),
    }
}
