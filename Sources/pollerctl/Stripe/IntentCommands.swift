import ArgumentParser
import StripeAPI

/// `pollerctl intent`: Stripe's payment intents themselves.
struct IntentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "intent",
        abstract: "Create and confirm Stripe payment intents.",
        discussion: """
            Talks to Stripe itself: STRIPE_API_KEY is the key, POLLER_STRIPE_API_BASE another \
            address such as a sandbox's. Each command prints the next step. The command \
            stripe (https://docs.stripe.com/stripe-cli) does everything else.
            """,
        subcommands: [IntentCreate.self, IntentGet.self, IntentConfirm.self]
    )
}

/// `pollerctl intent create`: a payment intent.
struct IntentCreate: StripeObjectCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a payment intent and print the next step."
    )

    @Option(help: "In the currency's smallest unit: 1099 is 10.99 EUR.")
    var amount: Int

    @Option(help: "Three letters, such as eur.")
    var currency: String

    @Option(help: "A method to allow, such as ideal; may be repeated.")
    var allow: [String] = []

    @Flag(help: "Capture later, with stripe payment_intents capture.")
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
        guard !confirm || method.method != nil || method.paymentMethod != nil else {
            throw ValidationError("--confirm needs --method TYPE or --payment-method pm_…")
        }
        guard confirm || method.returnURL == nil else {
            throw ValidationError("--return-url goes with --confirm")
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

/// `pollerctl intent get`: an intent as Stripe has it now.
struct IntentGet: StripeObjectCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show an intent as Stripe has it now, and the next step."
    )
    static let isRead = true

    @Argument(help: "The id, pi_….")
    var intent: String

    @Option(help: "Its client_secret, with a publishable key.")
    var clientSecret: String?

    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func call(_ client: StripeClient) async throws(StripeError) -> PaymentIntent {
        let secret = clientSecret.map(ClientSecret.init(rawValue:))
        return try await client.retrievePaymentIntent(intent, clientSecret: secret)
    }
}

/// `pollerctl intent confirm`: start the payment.
struct IntentConfirm: StripeObjectCommand {
    static let configuration = CommandConfiguration(
        commandName: "confirm",
        abstract: "Confirm an intent: from here on the customer may have to act."
    )

    @Argument(help: "The id, pi_….")
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

/// How an intent is paid.
struct IntentMethod: ParsableArguments {
    @Option(help: "A payment method described by its type alone, such as ideal.")
    var method: String?

    @Option(help: "A payment method that exists, pm_….")
    var paymentMethod: String?

    @Option(help: "Where the customer comes back to, such as https://pay.example/r.")
    var returnURL: String?

    func validate() throws {
        guard method == nil || paymentMethod == nil else {
            throw ValidationError("give --method or --payment-method, not both")
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
