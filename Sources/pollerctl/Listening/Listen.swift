import ArgumentParser
import Foundation
import NIOCore
import PollerClient
import PollerWire
import StandardWebhooks

/// `pollerctl listen`: events to a program on the developer's machine, none lost.
struct Listen: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Forward events to a program of yours, as webhooks.",
        discussion: """
            Each event is the very request that an endpoint gets, signed, in order, until it is \
            answered with 2xx. The position is kept on the disk after each answer: killed and \
            started again it goes on where it was, and at most the event that was under way comes \
            twice, with the same webhook-id. Without --since a first start begins now. On a \
            terminal, r sends the last event once more.

            With --print it is a receiver itself, for trying things out: it takes the webhooks that \
            are sent to http://127.0.0.1:8000/ and prints each, with what its signature is worth.
            """
    )

    @Flag(name: .customLong("print"), help: "Receive webhooks on this machine and print them.")
    var isPrinting = false

    @Option(help: "The port of 127.0.0.1 to receive at, with --print; 0 for a free one.")
    var port: Int?

    @OptionGroup var forwarding: ForwardingOptions

    @OptionGroup var types: TypesOption

    @Option(help: "Only those of this account.")
    var account: String?

    @Option(help: "Begin anew: now, at the oldest event kept, a span ago, or at a time.")
    var since: String?

    @Option(help: "First forward this event once more: evt_…; may be repeated.")
    var resend: [String] = []

    @Option(help: "Leave this event out, which your program will never accept; may be repeated.")
    var skip: [String] = []

    @Flag(help: "Print the secret that signs, and do nothing else.")
    var printSecret = false

    @OptionGroup var server: ServerOptions

    func validate() throws {
        try types.check()
        if since != nil { _ = try EventStart(since: since) }
        if isPrinting {
            let isAlone =
                forwarding.forwardTo == nil && since == nil && resend.isEmpty
                && skip.isEmpty && types.list.isEmpty && !printSecret
            guard isAlone else {
                throw ValidationError(
                    "--print receives what is sent to it: leave --forward-to, --types, --since, "
                        + "--resend, --skip and --print-secret out"
                )
            }
            guard (0...65_535).contains(port ?? Self.port) else {
                throw ValidationError("--port must be a port, 0 to 65535")
            }
            return
        }
        guard port == nil else { throw ValidationError("--port goes with --print") }
        guard printSecret || forwarding.forwardTo != nil else {
            throw ValidationError(
                "--forward-to must name a URL such as http://localhost:3000/hook; --print receives "
                    + "webhooks and prints them"
            )
        }
    }

    /// The port that the guides use.
    private static let port = 8000

    func run() async throws {
        if isPrinting { return try await receive() }
        do {
            let files = try ListenFiles(ProcessInfo.processInfo.environment)
            let (key, path) = try forwarding.key(files)
            if printSecret { return Terminal.printLine(key.reveal) }
            try await listen(files, key, storedIn: path)
        } catch let error as ListenerFileError {
            Terminal.printError(error.message)
            throw ExitCode(1)
        }
    }

    /// Prints webhooks; webhooks to watches' own URLs are checked with the account's secret.
    private func receive() async throws {
        try await server.perform { client in
            var secrets = [forwarding.secret].compactMap(\.self)
            // The key may not read it, or no server runs yet: then signatures are not checked.
            if secrets.isEmpty, let secret = try? await client.inlineSecret(account: account) {
                secrets = [secret]
            }
            let printer = WebhookPrinter(
                keys: secrets.compactMap { SigningKey($0) },
                isJSON: server.json
            )
            let wanted = port ?? Self.port
            do {
                try await printer.run(port: wanted)
            } catch let error as IOError {
                let problem =
                    error.errnoCode == EADDRINUSE
                    ? "port \(wanted) of 127.0.0.1 is in use by another program"
                    : "port \(wanted) of 127.0.0.1 cannot be opened: \(error)"
                Terminal.printError(
                    "\(problem)\nChoose another one with --port, such as --port 8001, "
                        + "or --port 0 for a free one."
                )
                throw ExitCode(1)
            }
        }
    }

    private func listen(
        _ files: ListenFiles,
        _ key: SigningKey,
        storedIn path: String?
    ) async throws {
        let target = forwarding.forwardTo ?? ""
        try await server.perform { client in
            var position = ListenerPosition(
                server: client.url,
                target: target,
                account: account,
                types: types.list
            )
            let lock = try files.lock(position)
            let stored = since == nil ? try files.stored(position) : nil
            if let stored { position = stored } else { try await begin(&position, files, client) }
            let keys = Keyboard.keys()
            try await Forwarder.with(target: target, key: key) { forwarder in
                if let path { Terminal.printError("signs with \(key.reveal), kept in \(path)") }
                for id in resend {
                    let event = try await client.event(id)
                    try await event.show(forwarder.forward(event), times: 1, json: server.json)
                }
                let last = LastEvent()
                var listener = Listener(
                    client,
                    forwarder,
                    files: files,
                    position: position,
                    skipped: Set(skip),
                    isJSON: server.json,
                    last: last
                )
                let from = stored == nil ? since.map { "from \($0)" } ?? "from now" : "where it was"
                Terminal.printError("forwards to \(target), \(from)\(await backlogNote(listener))")
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for await key in keys where key == "r" {
                            try await last.resend(forwarder, json: server.json)
                        }
                    }
                    defer { group.cancelAll() }
                    try await listener.run()
                }
            }
            try lock.close()
        }
    }

    /// Finds where a first start begins, and keeps that: what comes from here on is not lost.
    private func begin(
        _ position: inout ListenerPosition,
        _ files: ListenFiles,
        _ client: PollerClient
    ) async throws {
        switch try EventStart(since: since) {
        case .time(let date): position.since = date
        case .oldest: break
        case .now, .cursor: position.cursor = try await client.events(from: .now, limit: 1).next
        }
        try files.store(position)
    }

    /// How much it catches up; nothing to say where the server cannot be asked now.
    private func backlogNote(_ listener: Listener) async -> String {
        guard let (count, isMore) = try? await listener.backlog(), count > 0 else { return "" }
        let number = isMore ? "more than \(count)" : "\(count)"
        return "; catches up \(number) event\(count == 1 ? "" : "s")"
    }
}

/// Where events are forwarded to, and what signs them.
struct ForwardingOptions: ParsableArguments {
    @Option(help: "Where to: http://localhost:3000/hook.")
    var forwardTo: String?

    @Option(
        help: """
            The whsec_… that signs, or POLLER_LISTEN_SECRET[_FILE]; else one that is made once and \
            kept.
            """
    )
    var secret: String?

    func validate() throws {
        if let forwardTo, let problem = Forwarder.problem(with: forwardTo) {
            throw ValidationError(problem)
        }
        if let secret, SigningKey(secret) == nil {
            throw ValidationError("--secret \(SigningKey.rule)")
        }
    }

    /// What signs, and the file it is kept in, when it was made here.
    func key(_ files: @autoclosure () throws -> ListenFiles) throws -> (SigningKey, String?) {
        let name = "POLLER_LISTEN_SECRET"
        let environment = ProcessInfo.processInfo.environment
        guard let text = try secret ?? Terminal.secret(name, environment) else {
            let (key, path) = try files().secret()
            return (key, path)
        }
        guard let key = SigningKey(text) else {
            throw ValidationError("\(name) \(SigningKey.rule)")
        }
        return (key, nil)
    }
}
