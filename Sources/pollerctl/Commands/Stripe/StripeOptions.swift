import ArgumentParser
import Foundation
import StripeAPI

/// Which Stripe, and as whom: the options of every command that talks to Stripe itself.
struct StripeOptions: ParsableArguments {
    @Option(
        name: .customLong("stripe-account"),
        help: "Act for this connected account, acct_… (Stripe-Account)."
    )
    var stripeAccount: String?

    @Option(
        name: .customLong("idempotency-key"),
        help: "The same for every repetition; a new one when absent."
    )
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
