import ArgumentParser
import Foundation
import PollerClient
import PollerWire
import StripeAPI

/// The options of every command that calls Stripe.
struct StripeOptions: ParsableArguments {
    @Option(
        help:
            "Act for this account, acct_…: a connected account, or one of the key's organisation."
    )
    var stripeAccount: String?

    @Option(help: "The idempotency key of the request (default: a new one).")
    var idempotencyKey: String?

    /// Longer than Stripe's slowest responses, and short enough for a person to wait.
    private static let timeout = Duration.seconds(30)

    /// Runs calls to Stripe; prints failures and throws the exit status.
    func perform<Value>(
        isRead: Bool = false,
        _ body: (StripeClient) async throws(StripeError) -> Value
    ) async throws
        -> Value
    {
        let environment = ProcessInfo.processInfo.environment
        guard let key = try Terminal.secret("STRIPE_API_KEY", environment) else {
            Terminal.printError(
                "STRIPE_API_KEY is not set\nSet it to a secret key, sk_…, or a restricted one, or set "
                    + "STRIPE_API_KEY_FILE to a file with the key."
            )
            throw ExitCode(64)
        }
        var configuration = StripeClientConfiguration(
            key: StripeKey(key),
            account: stripeAccount,
            timeout: Self.timeout
        )
        if let base = environment["POLLER_STRIPE_API_BASE"], !base.isEmpty {
            configuration.baseURL = base
        }
        do throws(StripeError) {
            return try await body(StripeClient(configuration: configuration))
        } catch {
            let failure = Failure(error, base: configuration.baseURL, isRead: isRead)
            Terminal.printError(failure.message)
            throw ExitCode(failure.exitStatus)
        }
    }
}

/// A command that makes one Stripe API call.
///
/// It prints the object and the next step. With `--watch` the cluster then watches the object.
protocol StripeObjectCommand: AsyncParsableCommand {
    associatedtype Object: AdvisedObject

    /// Whether the call has no effect, so that it may be repeated.
    static var isRead: Bool { get }
    var stripe: StripeOptions { get }
    var watching: WatchOptions { get }

    func call(_ client: StripeClient) async throws(StripeError) -> Object

    /// Whether the object reached the intended state; otherwise the exit status is 1.
    func isDone(_ object: Object) -> Bool
}

extension StripeObjectCommand {
    static var isRead: Bool { false }

    func isDone(_ object: Object) -> Bool { true }

    func run() async throws {
        let object = try await stripe.perform(isRead: Self.isRead) { client throws(StripeError) in
            try await call(client)
        }
        try object.show(json: watching.server.json)
        guard isDone(object) else { throw ExitCode(1) }
        try await watching.run(object.id, secret: object.clientSecret)
    }
}

/// Whether and how the cluster watches the object of a command.
struct WatchOptions: ParsableArguments {
    @Flag(help: "Let the cluster watch it.")
    var watch = false

    @Flag(help: "Watch it, and show events until it is closed.")
    var follow = false

    @Flag(help: "Watch it, and let the cluster charge it once when it becomes chargeable.")
    var chargeWhenChargeable = false

    @Flag(help: "Watch it, and never charge it, whatever the account's settings.")
    var neverCharge = false

    @OptionGroup var terms: WatchTerms

    @Option(help: "The cluster's account name (default: default).")
    var account: String?

    @OptionGroup var server: ServerOptions

    /// Whether to watch the object.
    var isWatched: Bool { watch || follow || chargeWhenChargeable || neverCharge }

    func validate() throws {
        guard !(chargeWhenChargeable && neverCharge) else {
            throw ValidationError(
                "--charge-when-chargeable and --never-charge cannot be used together; remove one"
            )
        }
        guard isWatched || terms.isEmpty else {
            throw ValidationError(
                "--policy, --until, --timeout and --notify require --watch or --follow"
            )
        }
    }

    /// Enqueues an object and, with `--follow`, prints its events.
    ///
    /// The client secret is sent too, because it gives the customer access to the return page.
    func run(_ id: String, secret: StripeAPI.ClientSecret?) async throws {
        guard isWatched else { return }
        let name = WatchName(id, account: account)
        var request = WatchRequest(name)
        terms.apply(to: &request)
        request.clientSecret = secret?.rawValue
        request.charge = chargeWhenChargeable ? .whole : neverCharge ? .nothing : nil
        let requests = [request]
        try await server.perform { client in
            let result = try await client.enqueue(requests)
            guard let line = result.results.first else { return }
            if !server.json {
                Terminal.printLine("watched: \(line.outcome), run \(line.run)")
            }
            guard follow else { return }
            try await Follow.untilClosed([name: line.run], client: client, json: server.json)
        }
    }
}
