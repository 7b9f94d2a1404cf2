import ArgumentParser
import StripeAPI

/// `pollerctl intent confirm`: start the payment.
struct IntentConfirm: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "confirm",
        abstract: "Confirm an intent: from here on the customer may have to act."
    )

    @Argument(help: "The id, pi_….")
    var intent: String

    @OptionGroup var method: IntentMethod
    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func run() async throws {
        var params = PaymentIntentParams()
        method.apply(to: &params)
        let confirmed = try await stripe.perform { [params] client throws(StripeError) in
            try await client.confirmPaymentIntent(
                intent,
                params,
                idempotencyKey: stripe.idempotencyKey
            )
        }
        try confirmed.show(json: watching.server.json)
        try await watching.run(confirmed.id, secret: confirmed.clientSecret)
    }
}
