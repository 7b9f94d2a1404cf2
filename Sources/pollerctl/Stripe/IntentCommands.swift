import ArgumentParser
import StripeAPI

struct IntentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "intent",
        abstract: "Create and confirm Stripe payment intents.",
        discussion: """
            Calls Stripe directly. Set STRIPE_API_KEY to the key, and POLLER_STRIPE_API_BASE to use a \
            sandbox. Each command prints the next step. For everything else, use the Stripe CLI \
            (https://docs.stripe.com/stripe-cli).
            """,
        example: "pollerctl intent create --amount 1099 --currency eur --watch",
        subcommands: [IntentCreate.self, IntentGet.self, IntentConfirm.self]
    )
}

struct IntentCreate: StripeObjectCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a payment intent and print the next step.",
        discussion: "Example: pollerctl intent create --amount 1099 --currency eur --allow ideal"
    )

    @Option(help: "The amount in the smallest currency unit: 1099 is 10.99 EUR.")
    var amount: Int

    @Option(help: "The currency, such as eur.")
    var currency: String

    @Option(help: "A method to allow, such as ideal; may be repeated.")
    var allow: [String] = []

    @Flag(help: "Capture later, with stripe payment_intents capture.")
    var captureLater = false

    @Flag(help: "Confirm at once; requires --method or --payment-method.")
    var confirm = false

    @Option(help: "A description.")
    var description: String?

    @Option(help: "The text on the customer's statement.")
    var statementDescriptor: String?

    @Option(help: "Metadata, NAME=VALUE; may be repeated.")
    var metadata: [NameValue] = []

    @OptionGroup var method: IntentMethod
    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func validate() throws {
        guard amount > 0 else {
            throw ValidationError("--amount must be positive, in the currency's smallest unit")
        }
        guard !confirm || method.method != nil || method.paymentMethod != nil else {
            throw ValidationError("--confirm requires --method TYPE or --payment-method pm_…")
        }
        guard confirm || method.returnURL == nil else {
            throw ValidationError("--return-url requires --confirm")
        }
    }

    func call(_ client: StripeClient) async throws(StripeError) -> PaymentIntent {
        var params = method.params
        params.amount = amount
        params.currency = currency
        params.paymentMethodTypes = allow.isEmpty ? method.method.map { [$0] } ?? [] : allow
        params.confirm = confirm ? true : nil
        params.captureMethod = captureLater ? .manual : nil
        params.note = description
        params.statementDescriptor = statementDescriptor
        params.metadata = metadata.dictionary
        return try await client.createPaymentIntent(params, idempotencyKey: stripe.idempotencyKey)
    }
}

struct IntentGet: StripeObjectCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show an intent's current state at Stripe and the next step.",
        discussion: "Example: pollerctl intent get pi_123"
    )
    static let isRead = true

    @Argument(help: "The intent id, pi_….")
    var intent: String

    @Option(help: "The client_secret, for a publishable key.")
    var clientSecret: String?

    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func call(_ client: StripeClient) async throws(StripeError) -> PaymentIntent {
        let secret = clientSecret.map(ClientSecret.init(rawValue:))
        return try await client.retrievePaymentIntent(intent, clientSecret: secret)
    }
}

struct IntentConfirm: StripeObjectCommand {
    static let configuration = CommandConfiguration(
        commandName: "confirm",
        abstract: "Confirm an intent; the customer may then have to act.",
        discussion: "Example: pollerctl intent confirm pi_123 --method ideal"
    )

    @Argument(help: "The intent id, pi_….")
    var intent: String

    @OptionGroup var method: IntentMethod
    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func call(_ client: StripeClient) async throws(StripeError) -> PaymentIntent {
        try await client.confirmPaymentIntent(
            intent,
            method.params,
            idempotencyKey: stripe.idempotencyKey
        )
    }
}

/// The payment method of an intent.
struct IntentMethod: ParsableArguments {
    @Option(help: "A new payment method of this type, such as ideal.")
    var method: String?

    @Option(help: "An existing payment method, pm_….")
    var paymentMethod: String?

    @Option(help: "The page the customer returns to, such as https://pay.example/r.")
    var returnURL: String?

    func validate() throws {
        guard method == nil || paymentMethod == nil else {
            throw ValidationError(
                "--method and --payment-method cannot be used together; remove one"
            )
        }
    }

    /// The parameters of these options.
    var params: PaymentIntentParams {
        var params = PaymentIntentParams()
        params.paymentMethod = paymentMethod
        params.paymentMethodData = method.map { ["type": .string($0)] }
        params.returnURL = returnURL
        return params
    }
}
