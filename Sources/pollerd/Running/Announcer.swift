import Foundation

/// Tells on standard output where things listen, a line each, for people and for scripts that
/// started us with port 0.
enum Announcer {
    /// `pollerd api listening on http://127.0.0.1:8080`.
    static func listening(_ what: String, at url: String) {
        say("pollerd \(what) listening on \(url)")
    }

    /// `pollerd ready`: everything this process is for has started.
    static func ready() {
        say("pollerd ready")
    }

    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }
}
