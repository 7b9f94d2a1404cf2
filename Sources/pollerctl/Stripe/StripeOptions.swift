import ArgumentParser
import Foundation
import PollerClient
import PollerWire
import StripeAPI

/// Which Stripe, and as whom: the options of every command that talks to Stripe itself.
struct StripeOptions: ParsableArguments {
    @Option(
        help:
            "Act for this account, acct_…: a connected one, or one of the organisation of the key."
    )
    var stripeAccount: String?

    @Option(help: "The same for every repetition; a new one when absent.")
    var idempotencyKey: String?

    /// Longer than any answer of Stripe's that still comes, short enough for a person who waits.
    private static let timeout = Duration.seconds(30)

    /// Runs calls against Stripe; failures become a message and an exit status.
    func perform<Value>(
        isRead: Bool = false,
        _ body: (StripeClient) async throws(StripeError) -> Value
    ) async throws
        -> Value
    {
        let environment = ProcessInfo.processInfo.environment
        guard let key = try Terminal.secret("STRIPE_API_KEY", environment) else {
            Terminal.printError(
                "STRIPE_API_KEY is not set\nSet it to a secret key, sk_…, or a restricted one, or "
                    + "STRIPE_API_KEY_FILE to a file that holds it."
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

/// A command that makes one call of Stripe's API.
///
/// It prints the object and the next step. With `--watch` the cluster then watches the object.
protocol StripeObjectCommand: AsyncParsableCommand {
    associatedtype Object: AdvisedObject

    /// Whether the call has no effect, so that it may be repeated.
    static var isRead: Bool { get }
    var stripe: StripeOptions { get }
    var watching: WatchOptions { get }

    /// Makes the call.
    func call(_ client: StripeClient) async throws(StripeError) -> Object

    /// Whether the object is as it was to become; otherwise the exit status is 1.
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

/// Whether the cluster watches what a command has made, and how.
struct WatchOptions: ParsableArguments {
    @Flag(help: "Let the cluster watch it.")
    var watch = false

    @Flag(help: "Watch it, and show events until it is closed.")
    var follow = false

    @Flag(help: "Watch it, and let the cluster charge it once when it becomes chargeable.")
    var chargeWhenChargeable = false

    @Flag(help: "Watch it, and never charge it, whatever its account charges otherwise.")
    var neverCharge = false

    @OptionGroup var terms: WatchTerms

    @Option(help: "The cluster's name of the account; default when absent.")
    var account: String?

    @OptionGroup var server: ServerOptions

    /// Whether anything is to be watched.
    var isWatched: Bool { watch || follow || chargeWhenChargeable || neverCharge }

    func validate() throws {
        guard !(chargeWhenChargeable && neverCharge) else {
            throw ValidationError("--charge-when-chargeable and --never-charge exclude each other")
        }
        guard isWatched || terms.isEmpty else {
            throw ValidationError(
                "--policy, --until, --timeout and --notify belong to --watch or --follow"
            )
        }
    }

    /// Hands an object to the cluster, and follows it if that is wanted.
    ///
    /// Its secret goes along: it opens the return page to the customer.
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
