import ChildPrograms
import Foundation
import JSONText
import ProgramOutput

/// Tells on standard output where things listen, a line each, for people and for scripts that
/// started us with port 0.
///
/// Where an operator has asked for a log in JSON, these lines are JSON as well: who collects both streams
/// of a container reads one format. The beginning and the end are told to a supervisor as well.
struct Announcer: Sendable {
    /// Whether each line is an object.
    let isJSON: Bool
    /// Who waits for us to be ready.
    let supervisor: Supervisor

    /// `pollerd api listening on http://127.0.0.1:8080`.
    func listening(_ what: String, at url: String) {
        say("pollerd \(what) listening on \(url)", ["listener": what, "url": url])
    }

    /// `pollerd redis listening on redis://:PASSWORD@127.0.0.1:6379/0`, without the password where
    /// other users can read the output.
    func embeddedRedis(_ redis: EmbeddedRedis) {
        if isPrivate {
            listening("redis", at: redis.url)
        } else {
            listening("redis", at: "\(redis.publicURL) (password in \(redis.configurationFile))")
        }
    }

    /// Whether the standard output is no file that the group or other users may read.
    private var isPrivate: Bool {
        var status = stat()
        guard unsafe fstat(STDOUT_FILENO, &status) == 0 else { return true }
        let isFile = status.st_mode & S_IFMT == S_IFREG
        return !isFile || status.st_mode & (S_IRGRP | S_IROTH) == 0
    }

    /// `export SANDBOX=http://127.0.0.1:12111`: a line to paste into the next shell.
    func variable(_ name: String, _ value: String) {
        say("export \(name)=\(value)")
    }

    /// `pollerd starts no stripe-sandbox, because POLLER_STRIPE_API_BASE is set; unset it for one`: an export of an
    /// earlier try is easily forgotten.
    func noSandbox(because names: [String]) {
        let (them, verb) = names.count == 1 ? ("it", "is") : ("them", "are")
        let list = names.joined(separator: " and ")
        say(
            "pollerd starts no stripe-sandbox, because \(list) \(verb) set; unset \(them) for one",
            ["variables": names.joined(separator: ",")]
        )
    }

    /// `pollerd dashboard at http://127.0.0.1:8080/`: for people, who open it.
    func dashboard(at url: String) {
        say("pollerd dashboard at \(url)/", ["url": "\(url)/"])
    }

    /// `pollerd ready`: everything this process is for has started.
    func ready() {
        say("pollerd ready")
        supervisor.tell(.ready)
    }

    /// It drains from now on; the log says why.
    func stopping() {
        supervisor.tell(.stopping)
    }

    private func say(_ words: String, _ members: KeyValuePairs<String, String> = [:]) {
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
        // The work goes on without readers of these lines.
        StandardStreams.tryWrite("\(line)\n")
    }
}
