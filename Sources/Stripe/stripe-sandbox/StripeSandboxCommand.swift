package import ArgumentParser
import Foundation
import Logging
import ProgramOutput
import SecretFiles
import ServiceLifecycle
import StripeSandbox
import UnixSignals

/// `stripe-sandbox --bind 127.0.0.1:12111`: Stripe's API on this machine, for tests and demonstrations.
package struct StripeSandboxCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "stripe-sandbox",
        abstract: "A stateful imitation of Stripe's API for running everything offline.",
        discussion: "Prints `stripe-sandbox listening on http://HOST:PORT` when it is ready."
    )

    @Option(help: "Address to listen on; port 0 picks a free one.")
    var bind = "127.0.0.1:12111"

    @Flag(
        name: .customLong("public"),
        help: "Allow a public --bind address. Every client can then read and change everything."
    )
    var isPublic = false

    @Option(
        name: .customLong("allow-host"),
        help: ArgumentHelp(
            "Also serve requests for this host; may be repeated.",
            discussion: """
                Requests for other hosts are rejected, so that no web page can reach the sandbox under \
                its own name. By default the sandbox serves localhost, the hosts of --bind and --public-url \
                and, with --public, IP addresses and names that are not in the public DNS: names without a \
                dot and names in .svc, .local and .internal.
                """,
            valueName: "name"
        )
    )
    var allowedHosts: [String] = []

    @Option(help: "Send every event to this URL; requires a webhook secret.")
    var webhook: String?

    @Option(help: "Sign webhooks with this secret; it is visible in the list of processes.")
    var webhookSecret: String?

    @Option(help: "Sign webhooks with the secret in this file.")
    var webhookSecretFile: String?

    @Option(help: "Make IDs repeatable.")
    var seed: UInt64?

    @Option(help: "Delay of automatic changes, in sandbox seconds.")
    var autoDelay = 1.0

    @Option(help: "Sandbox seconds per second; with 3600 an hour passes in one second.")
    var timeScale = 1.0

    @Option(help: "Maximum number of attempts per webhook.")
    var webhookTries = 3

    @Option(
        help: "Sandbox seconds before the second attempt of a webhook; doubled for each later one."
    )
    var webhookRetryDelay = 1.0

    @Option(help: "Request limits: none, test (25 per second) or live (100, and 25 per endpoint).")
    var limits = LimitsChoice.none

    @Option(help: "Address used in redirect URLs; by default the one used by the client.")
    var publicURL: String?

    @Option(
        help: ArgumentHelp(
            "Save the state in this file or folder and continue with it after a restart.",
            discussion: """
                A kill loses the changes of the last 0.2 seconds, or of ten times the duration of a \
                write.
                """,
            valueName: "path"
        ),
        completion: .file()
    )
    var state: String?

    @Flag(help: "Exit when standard input ends, for programs that start the sandbox as a child.")
    var untilStdinEnds = false

    package init() {}

    package static func main() async {
        StandardStreams.prepare(program: "stripe-sandbox")
        do {
            let command = try parseAsRoot()
            if let sandbox = command as? Self {
                try await sandbox.run()
            } else {
                // Help, or a completion script.
                var command = command
                try command.run()
            }
        } catch {
            end(with: error)
        }
    }

    package func validate() throws {
        let (host, _) = try address()
        guard isPublic || SandboxHosts.isLoopback(host) else {
            throw ValidationError(
                "--bind \(bind) is public, so anyone could read and change everything: bind 127.0.0.1, or "
                    + "add --public if only your own programs can reach it."
            )
        }
        guard webhookSecret == nil || webhookSecretFile == nil else {
            throw ValidationError("Use either --webhook-secret or --webhook-secret-file, not both.")
        }
        guard (webhook == nil) == (webhookSecret == nil && webhookSecretFile == nil) else {
            throw ValidationError(
                "--webhook needs --webhook-secret or --webhook-secret-file, and the reverse: pass both."
            )
        }
        guard (0...86_400).contains(autoDelay) else {
            throw ValidationError("--auto-delay must be 0 to 86400 seconds.")
        }
        // With a million, thirty days pass in less than three seconds.
        guard (0.001...1_000_000).contains(timeScale) else {
            throw ValidationError("--time-scale must be 0.001 to 1000000.")
        }
        guard (1...100).contains(webhookTries), (0...86_400).contains(webhookRetryDelay) else {
            throw ValidationError(
                "--webhook-tries must be 1 to 100, --webhook-retry-delay 0 to 86400 seconds."
            )
        }
    }

    package func run() async throws {
        if untilStdinEnds { Self.endWithStandardInput() }
        let (host, port) = try address()
        var configuration = SandboxConfiguration(
            host: host,
            port: port,
            publicURL: publicURL,
            allowedHosts: allowedHosts,
            seed: seed,
            autoDelay: .seconds(autoDelay),
            webhookTries: webhookTries,
            webhookRetryDelay: .seconds(webhookRetryDelay),
            timeScale: timeScale,
            limits: limits.limits,
            state: try state.map { path in try SandboxStateFile(path: path) }
        )
        if let webhook, let secret = try secret() {
            configuration.webhook = .init(url: webhook, secret: secret)
        }
        var logger = Logger(label: "stripe-sandbox")
        logger.logLevel = .warning
        let shown = host.contains(":") ? "[\(host)]" : host
        let sandbox = try Sandbox(configuration: configuration, logger: logger) { port in
            // Written unbuffered, because other programs wait for this line.
            StandardStreams.tryWrite("stripe-sandbox listening on http://\(shown):\(port)\n")
        }
        var services = ServiceGroupConfiguration(
            services: [.init(service: sandbox, serviceName: "sandbox")],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        // A held request must not delay the exit.
        services.maximumGracefulShutdownDuration = .milliseconds(300)
        services.maximumCancellationDuration = .seconds(2)
        try await ServiceGroup(configuration: services).run()
    }

    /// Exits when standard input ends: a pipe from another program ends with that program, however it ends.
    private static func endWithStandardInput() {
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            _exit(0)
        }
    }

    private func secret() throws -> String? {
        guard let webhookSecretFile else { return webhookSecret }
        let file = try SecretFile(path: webhookSecretFile)
        if let warning = file.warning {
            StandardStreams.writeError("stripe-sandbox: warning: \(warning)\n")
        }
        return file.text
    }

    private func address() throws -> (host: String, port: Int) {
        guard let colon = bind.lastIndex(of: ":"),
            let port = Int(bind[bind.index(after: colon)...]),
            (0...65535).contains(port)
        else { throw ValidationError("--bind must be HOST:PORT, for example 127.0.0.1:12111.") }
        var host = bind[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else {
            throw ValidationError("--bind needs a host, such as 127.0.0.1.")
        }
        return (String(host), port)
    }
}

/// The predefined limits of a sandbox.
enum LimitsChoice: String, ExpressibleByArgument, CaseIterable {
    /// No limits, for benchmarks.
    case none
    /// The limits of Stripe's sandboxes.
    case test
    /// The limits of live mode.
    case live

    var limits: SandboxLimits {
        switch self {
        case .none: .none
        case .test: .test
        case .live: .live
        }
    }
}
