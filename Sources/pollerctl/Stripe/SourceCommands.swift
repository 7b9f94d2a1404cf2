import ArgumentParser
import StripeAPI

/// `pollerctl source`: Stripe's sources themselves.
struct SourceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "source",
        abstract: "Create Stripe sources, and do what they ask for.",
        discussion: """
            Talks to Stripe itself: STRIPE_API_KEY is the key, POLLER_STRIPE_API_BASE another \
            address such as a sandbox's. Each command prints the next step. The command \
            stripe (https://docs.stripe.com/stripe-cli) does everything else.
            """,
        subcommands: [SourceCreate.self, SourceGet.self, SourceVerify.self, SourceCharge.self]
    )
}

/// `pollerctl source create`: a source of any payment method.
struct SourceCreate: StripeObjectCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a source and say what the customer must do next.",
        discussion: """
            TYPE is \(SourceMethod.all.map(\.name).joined(separator: ", ")), or any other \
            type that Stripe knows. Each needs some of the options below and says so.

            pollerctl source create ideal --amount 1099 --return-url https://pay.example/r --follow
            """
    )

    @Argument(help: "The payment method.")
    var type: String

    @Option(help: "NAME=VALUE to keep with the source; may be repeated.")
    var metadata: [NameValue] = []

    @Option(help: "Any other field of Stripe's, as ach_debit[country]=US; may be repeated.")
    var param: [NameValue] = []

    @OptionGroup var fields: SourceFields
    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func validate() throws { _ = try SourceMethod.form(type, fields) }

    func call(_ client: StripeClient) async throws(StripeError) -> Source {
        // The validation has refused wrong options.
        let form = (try? SourceMethod.form(type, fields)) ?? []
        let names = metadata.dictionary.sorted { $0.key < $1.key }
        let others =
            names.map { ("metadata[\($0.key)]", $0.value) } + param.map { ($0.name, $0.value) }
        return try await client.createSource(form + others, idempotencyKey: stripe.idempotencyKey)
    }
}

/// `pollerctl source get`: a source as Stripe has it now.
struct SourceGet: StripeObjectCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show a source as Stripe has it now, and what has to happen next."
    )
    static let isRead = true

    @Argument(help: "The id, src_….")
    var source: String

    @Option(help: "Its client_secret, with a publishable key.")
    var clientSecret: String?

    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func call(_ client: StripeClient) async throws(StripeError) -> Source {
        let secret = clientSecret.map(ClientSecret.init(rawValue:))
        return try await client.retrieveSource(source, clientSecret: secret)
    }
}

/// `pollerctl source verify`: the code or the amounts a source asks for.
struct SourceVerify: StripeObjectCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Answer what a source with code verification asks for.",
        discussion: """
            With micro-deposits the two amounts in cents: pollerctl source verify src_… 32 45. \
            A wrong answer leaves fewer attempts; with none left the source fails for good. Exit \
            status 1 when it was not accepted.
            """
    )

    @Argument(help: "The id, src_….")
    var source: String

    @Argument(help: "The code, or the amounts.")
    var values: [String]

    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func validate() throws {
        guard !values.isEmpty else { throw ValidationError("give the code, or two amounts") }
    }

    func call(_ client: StripeClient) async throws(StripeError) -> Source {
        do throws(StripeError) {
            return try await client.verifySource(
                source,
                values: values,
                idempotencyKey: stripe.idempotencyKey
            )
        } catch {
            // The attempts that are left are worth more than the refusal alone.
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

/// `pollerctl source charge`: take the money.
struct SourceCharge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "charge",
        abstract: "Charge a chargeable source, once.",
        discussion: """
            Its idempotency key is the one the cluster charges with, so that the two never charge \
            a source twice; give your own --idempotency-key to charge a reusable source again.
            """
    )

    @Argument(help: "The id, src_….")
    var source: String

    @Option(help: "In the smallest unit; the source's own amount when absent.")
    var amount: Int?

    @Option(help: "Three letters; the source's own when absent.")
    var currency: String?

    @Option(help: "For people.")
    var description: String?

    @Option(help: "The text on the customer's statement.")
    var statementDescriptor: String?

    @Option(help: "Whose source it is, cus_…, for reusable ones.")
    var customer: String?

    @Option(help: "NAME=VALUE to keep with the charge; may be repeated.")
    var metadata: [NameValue] = []

    @Option(help: "The cluster's name of the account; default when absent.")
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
            try refuse("only \(received) of \(amount) have arrived", found)
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
        Terminal.printError("\(source) is not charged: \(reason)\n\(found.advice.text)")
        throw ExitCode(1)
    }
}
