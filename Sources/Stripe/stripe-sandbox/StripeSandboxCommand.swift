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
        abstract: "A stateful look-alike of Stripe's API, to run everything offline.",
        discussion: "Prints `stripe-sandbox listening on http://HOST:PORT` when it is ready."
    )

    @Option(help: "Address to listen on; port 0 picks a free one.")
    var bind = "127.0.0.1:12111"

    @Flag(
        name: .customLong("public"),
        help: "Let --bind leave loopback: whoever reaches it may read and change everything."
    )
    var isPublic = false

    @Option(
        name: .customLong("allow-host"),
        help: ArgumentHelp(
            "Serve requests for this host too; may be repeated.",
            discussion: """
                Requests for other hosts are refused, so that no web page can reach the sandbox under \
                a name of its own. Served are localhost, the hosts of --bind and --public-url and, with \
                --public, IP addresses and names that are not in the public DNS: those without a dot \
                and those in .svc, .local and .internal.
                """,
            valueName: "name"
        )
    )
    var allowedHosts: [String] = []

    @Option(help: "Post every event to this address; needs a webhook secret.")
    var webhook: String?

    @Option(help: "Sign webhooks with this secret; it shows in the list of processes.")
    var webhookSecret: String?

    @Option(help: "Sign webhooks with the secret in this file.")
    var webhookSecretFile: String?

    @Option(help: "Make ids repeatable.")
    var seed: UInt64?

    @Option(help: "Sandbox seconds until what settles by itself does so.")
    var autoDelay = 1.0

    @Option(help: "Sandbox seconds per second: 3600 lets an hour pass in a second.")
    var timeScale = 1.0

    @Option(help: "How often a webhook is tried in all.")
    var webhookTries = 3

    @Option(
        help: "Sandbox seconds before the second try of a webhook; doubled for each further one."
    )
    var webhookRetryDelay = 1.0

    @Option(help: "Request limits: none, test (25 per second) or live (100, and 25 per endpoint).")
    var limits = LimitsChoice.none

    @Option(help: "Address written into redirect URLs; by default the one the client used.")
    var publicURL: String?

    @Option(
        help: ArgumentHelp(
            "Keep what is known in this file or folder, and go on with it after a restart.",
            discussion: """
                A kill loses what has changed in the last fifth of a second, or in ten times what \
                writing takes.
                """,
            valueName: "path"
        ),
        completion: .file()
    )
    var state: String?

    @Flag(help: "End when standard input does: for a program that starts this one for itself.")
    var untilStdinEnds = false

    package init() {}

    package static func main() async {
        StandardStreams.prepare(program: "stripe-sandbox")
        do {
            let command = try parseAsRoot()
            if let sandbox = command as? Self {
                try await sandbox.run()
            } else {
                // Help, or a script for completions.
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
                "--bind \(bind) is public, and everybody may do everything there: bind 127.0.0.1, or "
                    + "add --public where only your own programs can reach it."
            )
        }
        guard webhookSecret == nil || webhookSecretFile == nil else {
            throw ValidationError("--webhook-secret and --webhook-secret-file: give one of them.")
        }
        guard (webhook == nil) == (webhookSecret == nil && webhookSecretFile == nil) else {
            throw ValidationError(
                "--webhook and --webhook-secret (or --webhook-secret-file) belong together; give both."
            )
        }
        guard (0...86_400).contains(autoDelay) else {
            throw ValidationError("--auto-delay is 0 to 86400 seconds.")
        }
        // A million: thirty days in less than three seconds.
        guard (0.001...1_000_000).contains(timeScale) else {
            throw ValidationError("--time-scale is 0.001 to 1000000.")
        }
        guard (1...100).contains(webhookTries), (0...86_400).contains(webhookRetryDelay) else {
            throw ValidationError(
                "--webhook-tries is 1 to 100, --webhook-retry-delay 0 to 86400 seconds."
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
            // Written past any buffer: other programs wait for this line.
            StandardStreams.tryWrite("stripe-sandbox listening on http://\(shown):\(port)\n")
        }
        var services = ServiceGroupConfiguration(
            services: [.init(service: sandbox, serviceName: "sandbox")],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        // A held request must not hold the exit.
        services.maximumGracefulShutdownDuration = .milliseconds(300)
        services.maximumCancellationDuration = .seconds(2)
        try await ServiceGroup(configuration: services).run()
    }

    /// A pipe from another program ends with that program, however it ends: this one goes with it, at once.
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
        else { throw ValidationError("--bind is HOST:PORT, for example 127.0.0.1:12111.") }
        var host = bind[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else {
            throw ValidationError("--bind needs a host, such as 127.0.0.1.")
        }
        return (String(host), port)
    }
}

/// The limits a sandbox can be started with.
enum LimitsChoice: String, ExpressibleByArgument, CaseIterable {
    /// As fast as the machine: for benchmarks.
    case none
    /// What Stripe allows its sandboxes.
    case test
    /// What Stripe allows in live mode.
    case live

    var limits: SandboxLimits {
        switch self {
        case .none: .none
        case .test: .test
        case .live: .live
        }
    }
}
