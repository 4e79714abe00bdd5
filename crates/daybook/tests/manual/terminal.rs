//! The terminals of an operator who follows a page: one for commands, and one for each server.
//!
//! They start in an empty folder, with the built command on the path. Variables exported in one block exist in the
//! next; a server has a separate terminal without them. The ports on a page are replaced by free ones, so that pages
//! can be run while other programs use the machine, and PostgreSQL's port by that of a test server.

use crate::page::{Block, Kind};
use crate::servers::Serving;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The ports of Daybook servers on pages.
const PORTS: [&str; 4] = ["8080", "8081", "8443", "9090"];
/// The port of PostgreSQL on pages.
pub const POSTGRES_PORT: &str = "5432";

/// The result of running a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The number of blocks run.
    pub run: usize,
    /// The number of blocks not run, with a reason.
    pub not_run: usize,
}

/// A folder, ports, and exported variables.
#[derive(Debug)]
pub struct TerminalSession {
    folder: TempDir,
    /// The variables exported at the end of each block.
    exports: TempDir,
    ports: BTreeMap<&'static str, String>,
    programs: PathBuf,
    servers: Vec<Serving>,
}

impl TerminalSession {
    /// An empty folder, with PostgreSQL's programs in a folder and its server at a port.
    pub fn new(postgres_programs: &Path, postgres_port: &str) -> TerminalSession {
        // All bound at the same time, so that they differ.
        let listeners = PORTS.map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let port_of = |listener: &TcpListener| listener.local_addr().expect("an address").port().to_string();
        let mut ports: BTreeMap<&'static str, String> =
            PORTS.iter().copied().zip(listeners.iter().map(port_of)).collect();
        ports.insert(POSTGRES_PORT, postgres_port.to_owned());
        let [folder, exports] = [tempfile::tempdir(), tempfile::tempdir()].map(|made| made.expect("a folder"));
        TerminalSession { folder, exports, ports, programs: postgres_programs.to_owned(), servers: Vec::new() }
    }

    /// Runs the blocks of a page in order, or returns which one failed, with its output.
    pub fn follow(mut self, blocks: &[Block]) -> Result<Done, String> {
        let mut done = Done::default();
        for block in blocks {
            let told = |sentence| format!("line {}: {sentence}\n{}", block.line, block.script);
            match &block.kind {
                Kind::NotRun(_) => {
                    done.not_run += 1;
                    continue;
                }
                Kind::Run => self.run(&block.script).map_err(told)?,
                Kind::Serve => {
                    self.stop_servers().map_err(told)?;
                    self.serve(&block.script).map_err(told)?;
                }
                Kind::ServeSecond => self.serve(&block.script).map_err(told)?,
            }
            done.run += 1;
        }
        self.stop_servers()?;
        Ok(done)
    }

    fn run(&self, script: &str) -> Result<(), String> {
        let exports = self.exports.path().join("exports");
        let before = if exports.exists() { format!(". '{}'\n", exports.display()) } else { String::new() };
        let whole = format!("{before}set -eo pipefail\n{}\nexport -p > '{}'\n", self.here(script), exports.display());
        let output = self.shell(&whole).output().expect("bash starts");
        if output.status.success() {
            return Ok(());
        }
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        Err(format!("the block ended with {}\n{out}{err}", output.status))
    }

    fn serve(&mut self, script: &str) -> Result<(), String> {
        let whole = format!("set -e\n{}", self.here(script));
        self.servers.push(Serving::start(self.shell(&whole))?);
        Ok(())
    }

    fn stop_servers(&mut self) -> Result<(), String> {
        self.servers.drain(..).try_for_each(Serving::stop)
    }

    fn shell(&self, script: &str) -> Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_daybook")).parent().expect("the command is in a folder");
        let path = format!("{}:{}:/usr/local/bin:/usr/bin:/bin", binary.display(), self.programs.display());
        let mut command = Command::new("bash");
        command.args(["--norc", "-c", script]).current_dir(self.folder.path()).stdin(Stdio::null()).env_clear();
        command.env("PATH", path).env("HOME", self.folder.path()).env("LANG", "C.UTF-8");
        // The default port of servers and clients.
        command.env("DAYBOOK_LISTEN", format!("127.0.0.1:{}", self.ports["8080"]));
        command.env("PGHOST", "127.0.0.1").env("PGPORT", &self.ports[POSTGRES_PORT]).env("PGUSER", "daybook");
        command
    }

    /// A script with the ports of this session.
    fn here(&self, script: &str) -> String {
        self.ports.iter().fold(script.to_owned(), |script, (port, here)| {
            let pieces: Vec<&str> = script.split(&format!(":{port}")).collect();
            pieces.join(&format!(":{here}"))
        })
    }
}
