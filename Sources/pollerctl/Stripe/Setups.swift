import ArgumentParser
import PollerWire
import SafeNumbers
import StripeAPI

extension SetupIntent {
    /// Prints the intent and what has to happen next.
    func show(json: Bool) throws {
        guard !json else { return try Advised(object: self, next: advice).showJSON() }
        var facts = Facts()
        let isFinal = status == .succeeded || status == .canceled
        facts.add("setup", id, .strong)
        facts.add("status", status.rawValue, Watch.colour(status.rawValue, isFinal: isFinal))
        facts.add("methods", paymentMethodTypes?.joined(separator: ", "))
        facts.add("customer", customer)
        facts.add("saved", status == .succeeded ? paymentMethod : nil, .good)
        facts.add("mandate", mandate)
        facts.add("last error", lastSetupError?.description, .bad)
        facts.add("next", advice.text, .careful)
        facts.print()
    }

    /// What has to happen next.
    var advice: Advice {
        switch status {
        case .requiresPaymentMethod:
            let why = lastSetupError.map { "the last try failed (\($0)); " } ?? ""
            return Advice(
                step: "choose_method",
                text: "\(why)confirm it with a method: pollerctl setup confirm \(id) --method TYPE"
            )
        case .requiresConfirmation:
            return Advice(step: "confirm", text: "confirm it: pollerctl setup confirm \(id)")
        case .requiresAction:
            if nextAction?.type.rawValue == "verify_with_microdeposits" {
                return Advice(
                    step: "verify",
                    text: "ask the customer for two amounts on their statement: pollerctl setup "
                        + "verify \(id) AMOUNT AMOUNT",
                    url: nextAction?.hostedURL
                )
            }
            guard let url = nextAction?.redirectToURL?.url ?? nextAction?.hostedURL else {
                let kind = nextAction?.type.rawValue ?? "its next action"
                return Advice(step: "act", text: "the customer must act: \(kind)")
            }
            return Advice(step: "redirect", text: "send the customer to \(url)", url: url)
        case .succeeded:
            let method = paymentMethod ?? "the method"
            return Advice(
                step: "nothing",
                text: "\(method) is saved: charge it with an intent, off_session"
            )
        case .canceled:
            return Advice(step: "nothing", text: "nothing more happens to it: \(status)")
        default: return Advice(step: "wait", text: "wait: the bank has not answered yet")
        }
    }
}

/// `pollerctl setup`: Stripe's setup intents, which save a payment method.
struct SetupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Save payment methods with Stripe setup intents.",
        discussion: """
            Talks to Stripe itself: STRIPE_API_KEY is the key, POLLER_STRIPE_API_BASE another \
            address such as a sandbox's. Each command says what has to happen next.
            """,
        subcommands: [
            SetupCreate.self, SetupGet.self, SetupConfirm.self, SetupVerify.self, SetupCancel.self,
        ]
    )
}

/// `pollerctl setup create`: a setup intent.
struct SetupCreate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a setup intent and say what has to happen next."
    )

    @Option(help: "A method to allow, such as sepa_debit; may be repeated.")
    var allow: [String] = []

    @Option(help: "Whose it is to be, cus_….")
    var customer: String?

    @Option(help: "How it will be charged: off_session (the default) or on_session.")
    var usage: String?

    @Flag(help: "Confirm at once; needs --method or --payment-method.")
    var confirm = false

    @Option(help: "For people.")
    var description: String?

    @Option(help: "NAME=VALUE to keep with the intent; may be repeated.")
    var metadata: [NameValue] = []

    @OptionGroup var method: IntentMethod
    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func validate() throws {
        guard !confirm || method.isGiven else {
            throw ValidationError("--confirm needs --method TYPE or --payment-method pm_…")
        }
        guard confirm || method.returnURL == nil else {
            throw ValidationError("--return-url goes with --confirm")
        }
        guard ["off_session", "on_session", nil].contains(usage) else {
            throw ValidationError("--usage is off_session or on_session")
        }
    }

    func run() async throws {
        var params = SetupIntentParams(
            paymentMethodTypes: allow.isEmpty ? method.method.map { [$0] } ?? [] : allow,
            customer: customer,
            confirm: confirm ? true : nil,
            usage: usage,
            note: description,
            metadata: metadata.dictionary
        )
        method.apply(to: &params)
        let intent = try await stripe.perform { [params] client throws(StripeError) in
            try await client.createSetupIntent(params, idempotencyKey: stripe.idempotencyKey)
        }
        try intent.show(json: watching.server.json)
        try await watching.run(intent.id, secret: intent.clientSecret)
    }
}

/// `pollerctl setup get`: a setup intent as Stripe has it now.
struct SetupGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show a setup intent as Stripe has it now, and what has to happen next."
    )

    @Argument(help: "The id, seti_….")
    var setup: String

    @Option(help: "Its client_secret, with a publishable key.")
    var clientSecret: String?

    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func run() async throws {
        let secret = clientSecret.map(ClientSecret.init(rawValue:))
        let found = try await stripe.perform(isRead: true) { client throws(StripeError) in
            try await client.retrieveSetupIntent(setup, clientSecret: secret)
        }
        try found.show(json: watching.server.json)
        try await watching.run(found.id, secret: found.clientSecret)
    }
}

/// `pollerctl setup confirm`: let the bank and the customer agree.
struct SetupConfirm: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "confirm",
        abstract: "Confirm a setup intent: from here on the customer may have to act."
    )

    @Argument(help: "The id, seti_….")
    var setup: String

    @OptionGroup var method: IntentMethod
    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func run() async throws {
        var params = SetupIntentParams()
        method.apply(to: &params)
        let confirmed = try await stripe.perform { [params] client throws(StripeError) in
            try await client.confirmSetupIntent(
                setup,
                params,
                idempotencyKey: stripe.idempotencyKey
            )
        }
        try confirmed.show(json: watching.server.json)
        try await watching.run(confirmed.id, secret: confirmed.clientSecret)
    }
}

/// `pollerctl setup verify`: the micro-deposits a setup intent asks for.
struct SetupVerify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Answer what a setup intent with micro-deposits asks for.",
        discussion: "The two amounts in cents, or the code that begins with SM."
    )

    @Argument(help: "The id, seti_….")
    var setup: String

    @Argument(help: "The two amounts, or the code.")
    var values: [String]

    @Flag(help: "Print JSON instead of text.")
    var json = false

    @OptionGroup var stripe: StripeOptions

    func validate() throws {
        _ = try proof()
    }

    func run() async throws {
        let proof = try proof()
        try await stripe.perform { client throws(StripeError) in
            try await client.verifyMicrodeposits(
                ofSetupIntent: setup,
                proof,
                idempotencyKey: stripe.idempotencyKey
            )
        }.show(json: json)
    }

    private func proof() throws -> MicrodepositProof {
        let amounts = values.compactMap { Int(safe: $0) }
        if values.count == 2, amounts.count == 2 { return .amounts(amounts[0], amounts[1]) }
        guard values.count == 1, values[0].hasPrefix("SM") else {
            throw ValidationError("give two amounts in cents, or the code that begins with SM")
        }
        return .descriptorCode(values[0])
    }
}

/// `pollerctl setup cancel`: give it up.
struct SetupCancel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel a setup intent that has not succeeded."
    )

    /// The reasons a caller may give.
    private static let reasons = ["abandoned", "duplicate", "requested_by_customer"]

    @Argument(help: "The id, seti_….")
    var setup: String

    @Option(help: "abandoned, duplicate or requested_by_customer.")
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
        try await stripe.perform { client throws(StripeError) in
            try await client.cancelSetupIntent(
                setup,
                reason: reason,
                idempotencyKey: stripe.idempotencyKey
            )
        }.show(json: json)
    }
}
