import ArgumentParser
import StripeAPI

/// `pollerctl intent create`: a payment intent.
struct IntentCreate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a payment intent and say what has to happen next."
    )

    @Option(help: "In the currency's smallest unit: 1099 is 10.99 EUR.")
    var amount: Int

    @Option(help: "Three letters, such as eur.")
    var currency: String

    @Option(help: "A method to allow, such as ideal; may be repeated.")
    var allow: [String] = []

    @Flag(help: "Capture later, with pollerctl intent capture.")
    var captureLater = false

    @Flag(help: "Confirm at once; needs --method or --payment-method.")
    var confirm = false

    @Option(help: "For people.")
    var description: String?

    @Option(help: "The text on the customer's statement.")
    var statementDescriptor: String?

    @Option(help: "NAME=VALUE to keep with the intent; may be repeated.")
    var metadata: [NameValue] = []

    @OptionGroup var method: IntentMethod
    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func validate() throws {
        guard amount > 0 else {
            throw ValidationError("--amount must be positive, in the currency's smallest unit")
        }
        guard !confirm || method.isGiven else {
            throw ValidationError("--confirm needs --method TYPE or --payment-method pm_…")
        }
        guard confirm || method.returnURL == nil else {
            throw ValidationError("--return-url goes with --confirm")
        }
    }

    func run() async throws {
        var params = PaymentIntentParams(
            amount: amount,
            currency: currency,
            paymentMethodTypes: allow.isEmpty ? method.method.map { [$0] } ?? [] : allow,
            confirm: confirm ? true : nil,
            captureMethod: captureLater ? .manual : nil,
            note: description,
            statementDescriptor: statementDescriptor,
            metadata: metadata.dictionary
        )
        method.apply(to: &params)
        let intent = try await stripe.perform { [params] client throws(StripeError) in
            try await client.createPaymentIntent(params, idempotencyKey: stripe.idempotencyKey)
        }
        try intent.show(json: watching.server.json)
        try await watching.run(intent.id, secret: intent.clientSecret)
    }
}
