import ArgumentParser
import StripeAPI

/// `pollerctl intent cancel`: give it up.
struct IntentCancel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel an intent that has not succeeded."
    )

    /// The reasons a caller may give.
    private static let reasons = [
        "abandoned", "duplicate", "fraudulent", "requested_by_customer",
    ]

    @Argument(help: "The id, pi_….")
    var intent: String

    @Option(help: "abandoned, duplicate, fraudulent or requested_by_customer.")
    var reason: String?

    @Flag(help: "Print JSON instead of text.")
    var json = false

    @OptionGroup var stripe: StripeOptions

    func validate() throws {
        guard reason.map(Self.reasons.contains) ?? true else {
            throw ValidationError("--reason is \(Self.reasons.joined(separator: ", "))")
        }
    }

    func run() async throws {
        let canceled = try await stripe.perform { client throws(StripeError) in
            try await client.cancelPaymentIntent(
                intent,
                reason: reason,
                idempotencyKey: stripe.idempotencyKey
            )
        }
        try canceled.show(json: json)
    }
}
