import ArgumentParser
import StripeAPI

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
