import ArgumentParser
import StripeAPI

/// `pollerctl intent capture`: take what was authorised.
struct IntentCapture: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "capture",
        abstract: "Capture an intent that was authorised."
    )

    @Argument(help: "The id, pi_….")
    var intent: String

    @Option(help: "In the smallest unit; all of it when absent, the rest is released.")
    var amount: Int?

    @Flag(help: "Print JSON instead of text.")
    var json = false

    @OptionGroup var stripe: StripeOptions

    func validate() throws {
        guard amount ?? 1 > 0 else { throw ValidationError("--amount must be positive") }
    }

    func run() async throws {
        let captured = try await stripe.perform { client throws(StripeError) in
            try await client.capturePaymentIntent(
                intent,
                amount: amount,
                idempotencyKey: stripe.idempotencyKey
            )
        }
        try captured.show(json: json)
    }
}
