import ChildPrograms
import Foundation
import JSONText
import ProgramOutput

/// Prints listener addresses on standard output, one line each, for people and for scripts that chose port 0.
///
/// If an operator configured JSON logs, these lines are JSON too. A collector of both streams of a container then reads
/// one format. Start and stop are also reported to a supervisor.
struct Announcer: Sendable {
    /// Whether each line is a JSON object.
    let isJSON: Bool
    /// The supervisor that waits for this process to be ready.
    let supervisor: Supervisor

    /// Prints `pollerd api listening on http://127.0.0.1:8080`.
    func listening(_ what: String, at url: String) {
        report("pollerd \(what) listening on \(url)", ["listener": what, "url": url])
    }

    /// Prints `pollerd redis listening on redis://:PASSWORD@127.0.0.1:6379/0`.
    ///
    /// The password is left out if other users can read the output.
    func embeddedRedis(_ redis: EmbeddedRedis) {
        if isPrivate {
            listening("redis", at: redis.url)
        } else {
            listening("redis", at: "\(redis.publicURL) (password in \(redis.configurationFile))")
        }
    }

    /// Whether standard output is anything but a file that the group or other users may read.
    private var isPrivate: Bool {
        var status = stat()
        guard unsafe fstat(STDOUT_FILENO, &status) == 0 else { return true }
        let isFile = status.st_mode & S_IFMT == S_IFREG
        return !isFile || status.st_mode & (S_IRGRP | S_IROTH) == 0
    }

    /// Prints `export SANDBOX=http://127.0.0.1:12111`: a line to paste into the next shell.
    func variable(_ name: String, _ value: String) {
        report("export \(name)=\(value)")
    }

    /// Prints `pollerd starts no stripe-sandbox, because POLLER_STRIPE_API_BASE is set; unset it for one`.
    ///
    /// The variable of an earlier session is easily forgotten.
    func reportNoSandbox(because names: [String]) {
        let (them, verb) = names.count == 1 ? ("it", "is") : ("them", "are")
        let list = names.joined(separator: " and ")
        report(
            "pollerd starts no stripe-sandbox, because \(list) \(verb) set; unset \(them) for one",
            ["variables": names.joined(separator: ",")]
        )
    }

    /// Prints `pollerd dashboard at http://127.0.0.1:8080/`.
    func dashboard(at url: String) {
        report("pollerd dashboard at \(url)/", ["url": "\(url)/"])
    }

    /// Prints `pollerd ready` after everything has started, and reports it to the supervisor.
    func ready() {
        report("pollerd ready")
        supervisor.notify(.ready)
    }

    /// Reports to the supervisor that the process is draining.
    ///
    /// The log has the reason.
    func stopping() {
        supervisor.notify(.stopping)
    }

    private func report(_ words: String, _ members: KeyValuePairs<String, String> = [:]) {
        var line = words
        if isJSON {
            let more = members.map {
                ",\(JSONWriter.literal($0.key)):\(JSONWriter.literal($0.value))"
            }
            line = """
                {"time":"\(WallClock.now())","level":"notice","logger":"pollerd",\
                "message":\(JSONWriter.literal(words))\(more.joined())}
                """
        }
        // The process continues if this output has no reader.
        StandardStreams.tryWrite("\(line)\n")
    }
}
