import ArgumentParser
import Foundation
import NIOCore
import PollerClient
import PollerWire
import StandardWebhooks

struct Listen: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Forward events to a local program as webhooks.",
        discussion: """
            Sends each event as the same signed request that an endpoint receives, in order, and \
            retries until the program returns 2xx. The position is saved to disk after each response. \
            After a restart it continues from there; at most one event is sent twice, with the same \
            webhook-id. Without --since the first start begins now. On a terminal, press r to resend \
            the last event.

            With --print the command is the receiver: it prints the webhooks sent to \
            http://127.0.0.1:8000/ and checks their signatures.
            """,
        example: "pollerctl listen --forward-to http://localhost:3000/hook"
    )

    @Flag(name: .customLong("print"), help: "Receive webhooks on this machine and print them.")
    var isPrinting = false

    @Option(help: "The port on 127.0.0.1 for --print; 0 for a free one.")
    var port: Int?

    @OptionGroup var forwarding: ForwardingOptions

    @OptionGroup var types: TypesOption

    @Option(help: "Only this account.")
    var account: String?

    @Option(help: "Restart at: now, oldest, a duration ago, or a time.")
    var since: String?

    @Option(help: "First resend this event: evt_…; may be repeated.")
    var resend: [String] = []

    @Option(help: "Skip this event, which your program cannot accept; may be repeated.")
    var skip: [String] = []

    @Flag(help: "Print the signing secret and exit.")
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
                    "--print cannot be combined with --forward-to, --types, --since, --resend, --skip "
                        + "or --print-secret; remove them"
                )
            }
            guard (0...65_535).contains(port ?? Self.port) else {
                throw ValidationError("--port must be 0 to 65535")
            }
            return
        }
        guard port == nil else { throw ValidationError("--port requires --print") }
        guard printSecret || forwarding.forwardTo != nil else {
            throw ValidationError(
                "--forward-to must name a URL such as http://localhost:3000/hook. To receive and print "
                    + "webhooks, use --print"
            )
        }
    }

    /// The default port, which the guides use.
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

    /// Receives and prints webhooks.
    ///
    /// Signatures of inline URLs are checked with the account's secret.
    private func receive() async throws {
        try await server.perform { client in
            var secrets = [forwarding.secret].compactMap(\.self)
            // If the key may not read the secret, or no server is running, signatures are not checked.
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
                    ? "port \(wanted) on 127.0.0.1 is in use by another program"
                    : "cannot open port \(wanted) on 127.0.0.1: \(error)"
                Terminal.printError(
                    "\(problem)\nChoose another port, such as --port 8001, "
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
                if let path {
                    Terminal.printError("signing secret \(key.reveal), stored in \(path)")
                }
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
                let from =
                    stored == nil
                    ? since.map { "from \($0)" } ?? "from now" : "from the saved position"
                Terminal.printError(
                    "forwarding to \(target), \(from)\(await backlogNote(listener))"
                )
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

    /// Saves the start position of a first start, so that no later event is lost.
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

    /// The note on the backlog; empty if there is none or the server is unavailable.
    private func backlogNote(_ listener: Listener) async -> String {
        guard let (count, isMore) = try? await listener.backlog(), count > 0 else { return "" }
        let number = isMore ? "more than \(count)" : "\(count)"
        return "; backlog of \(number) event\(count == 1 ? "" : "s")"
    }
}

/// The target of forwarded events and the signing secret.
struct ForwardingOptions: ParsableArguments {
    @Option(help: "The target URL, such as http://localhost:3000/hook.")
    var forwardTo: String?

    @Option(
        help: """
            The signing secret, whsec_…, or POLLER_LISTEN_SECRET[_FILE]; by default one is created \
            and saved.
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

    /// Returns the signing key, and its file if this command created it.
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
