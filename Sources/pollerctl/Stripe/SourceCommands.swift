import ArgumentParser
import StripeAPI

struct SourceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "source",
        abstract: "Create, verify and charge Stripe sources.",
        discussion: """
            Calls Stripe directly. Set STRIPE_API_KEY to the key, and POLLER_STRIPE_API_BASE to use a \
            sandbox. Each command prints the next step. For everything else, use the Stripe CLI \
            (https://docs.stripe.com/stripe-cli).
            """,
        example: "pollerctl source create ideal --amount 1099 --return-url https://pay.example/r",
        subcommands: [SourceCreate.self, SourceGet.self, SourceVerify.self, SourceCharge.self]
    )
}

struct SourceCreate: StripeObjectCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a source and print the customer's next step.",
        discussion: """
            TYPE is \(SourceMethod.all.map(\.name).joined(separator: ", ")), or any other \
            type of Stripe's. Each type requires some of the options below.

            Example:

              pollerctl source create ideal --amount 1099 --return-url https://pay.example/r --follow
            """
    )

    @Argument(help: "The payment method.")
    var type: String

    @Option(help: "Metadata, NAME=VALUE; may be repeated.")
    var metadata: [NameValue] = []

    @Option(help: "Any other Stripe field, such as ach_debit[country]=US; may be repeated.")
    var param: [NameValue] = []

    @OptionGroup var fields: SourceFields
    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func validate() throws { _ = try SourceMethod.form(type, fields) }

    func call(_ client: StripeClient) async throws(StripeError) -> Source {
        // `validate()` has already rejected invalid options.
        let form = (try? SourceMethod.form(type, fields)) ?? []
        let names = metadata.dictionary.sorted { $0.key < $1.key }
        let others =
            names.map { ("metadata[\($0.key)]", $0.value) } + param.map { ($0.name, $0.value) }
        return try await client.createSource(form + others, idempotencyKey: stripe.idempotencyKey)
    }
}

struct SourceGet: StripeObjectCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show a source's current state at Stripe and the next step.",
        discussion: "Example: pollerctl source get src_123"
    )
    static let isRead = true

    @Argument(help: "The source id, src_….")
    var source: String

    @Option(help: "The client_secret, for a publishable key.")
    var clientSecret: String?

    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func call(_ client: StripeClient) async throws(StripeError) -> Source {
        let secret = clientSecret.map(ClientSecret.init(rawValue:))
        return try await client.retrieveSource(source, clientSecret: secret)
    }
}

struct SourceVerify: StripeObjectCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Submit the verification code or amounts of a source.",
        discussion: """
            For micro-deposits, give the two amounts in cents. Each wrong answer uses an attempt; with \
            none left the source fails permanently. Exits with 1 if the answer was not accepted.
            """,
        example: "pollerctl source verify src_123 32 45"
    )

    @Argument(help: "The source id, src_….")
    var source: String

    @Argument(help: "The code, or the amounts.")
    var values: [String]

    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func validate() throws {
        guard !values.isEmpty else {
            throw ValidationError("no code given: give the code, or two amounts")
        }
    }

    func call(_ client: StripeClient) async throws(StripeError) -> Source {
        do throws(StripeError) {
            return try await client.verifySource(
                source,
                values: values,
                idempotencyKey: stripe.idempotencyKey
            )
        } catch {
            // Report the remaining attempts as well as the error.
            if [400, 402].contains(error.status),
                let left = try? await client.retrieveSource(source)
            {
                Terminal.printError("\(source): \(left.advice.text)")
            }
            throw error
        }
    }

    func isDone(_ source: Source) -> Bool {
        source.verification?.status == .succeeded || source.status == .chargeable
    }
}

struct SourceCharge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "charge",
        abstract: "Charge a chargeable source, once.",
        discussion: """
            Uses the cluster's idempotency key, so that a source is never charged twice. To charge a \
            reusable source again, give your own --idempotency-key.
            """,
        example: "pollerctl source charge src_123"
    )

    @Argument(help: "The source id, src_….")
    var source: String

    @Option(help: "The amount in the smallest unit (default: the source's amount).")
    var amount: Int?

    @Option(help: "The currency (default: the source's currency).")
    var currency: String?

    @Option(help: "A description.")
    var description: String?

    @Option(help: "The text on the customer's statement.")
    var statementDescriptor: String?

    @Option(help: "The customer of a reusable source, cus_….")
    var customer: String?

    @Option(help: "Metadata, NAME=VALUE; may be repeated.")
    var metadata: [NameValue] = []

    @Option(help: "The cluster's account name (default: default).")
    var account: String?

    @Flag(help: "Print JSON instead of text.")
    var json = false

    @OptionGroup var stripe: StripeOptions

    func validate() throws {
        guard amount ?? 1 > 0 else { throw ValidationError("--amount must be positive") }
    }

    func run() async throws {
        let found = try await stripe.perform(isRead: true) { client throws(StripeError) in
            try await client.retrieveSource(source)
        }
        guard found.status == .chargeable else {
            try refuse("it is \(found.status), not chargeable", found)
        }
        guard let amount = amount ?? found.amount, let currency = currency ?? found.currency else {
            throw ValidationError("this source has no amount: give --amount and --currency")
        }
        if let received = found.receiver?.amountReceived, received < amount {
            try refuse("only \(received) of \(amount) have been received", found)
        }
        let params = ChargeParams(
            source: source,
            amount: amount,
            currency: currency,
            customer: customer,
            note: description,
            statementDescriptor: statementDescriptor,
            metadata: metadata.dictionary
        )
        let key = stripe.idempotencyKey ?? "poller-charge:\(account ?? "default"):\(source)"
        let charge = try await stripe.perform { client throws(StripeError) in
            try await client.createCharge(params, idempotencyKey: key)
        }
        try charge.show(json: json)
        if charge.status == .failed { throw ExitCode(1) }
    }

    private func refuse(_ reason: String, _ found: Source) throws -> Never {
        Terminal.printError("\(source) was not charged: \(reason)\n\(found.advice.text)")
        throw ExitCode(1)
    }
}
