import ArgumentParser
import StripeAPI

/// `pollerctl intent`: Stripe's payment intents themselves.
struct IntentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "intent",
        abstract: "Create Stripe payment intents, and do what they ask for.",
        discussion: """
            Talks to Stripe itself: STRIPE_API_KEY is the key, POLLER_STRIPE_API_BASE another \
            address such as a sandbox's. Each command says what has to happen next.
            """,
        subcommands: [
            IntentCreate.self, IntentGet.self, IntentConfirm.self, IntentCapture.self,
            IntentCancel.self,
        ]
    )
}

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

/// `pollerctl intent get`: an intent as Stripe has it now.
struct IntentGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show an intent as Stripe has it now, and what has to happen next."
    )

    @Argument(help: "The id, pi_….")
    var intent: String

    @Option(help: "Its client_secret, with a publishable key.")
    var clientSecret: String?

    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func run() async throws {
        let secret = clientSecret.map(ClientSecret.init(rawValue:))
        let found = try await stripe.perform(isRead: true) { client throws(StripeError) in
            try await client.retrievePaymentIntent(intent, clientSecret: secret)
        }
        try found.show(json: watching.server.json)
        try await watching.run(found.id, secret: found.clientSecret)
    }
}

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

/// How an intent is paid.
struct IntentMethod: ParsableArguments {
    @Option(help: "A payment method described by its type alone, such as ideal.")
    var method: String?

    @Option(help: "A payment method that exists, pm_….")
    var paymentMethod: String?

    @Option(
        name: .customLong("return-url"),
        help: "Where the customer comes back to, such as https://pay.example/r."
    )
    var returnURL: String?

    /// Whether a method was named.
    var isGiven: Bool { method != nil || paymentMethod != nil }

    func validate() throws {
        guard method == nil || paymentMethod == nil else {
            throw ValidationError("give --method or --payment-method, not both")
        }
    }

    /// Sets what was given.
    func apply(to params: inout SetupIntentParams) {
        params.paymentMethod = paymentMethod
        if let method { params.paymentMethodData = ["type": .string(method)] }
        params.returnURL = returnURL
    }

    /// Sets what was given.
    func apply(to params: inout PaymentIntentParams) {
        params.paymentMethod = paymentMethod
        if let method { params.paymentMethodData = ["type": .string(method)] }
        params.returnURL = returnURL
    }
}
