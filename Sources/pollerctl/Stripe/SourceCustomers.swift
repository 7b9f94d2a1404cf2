import ArgumentParser
import StripeAPI

/// `pollerctl source attach`: give a reusable source to a customer.
struct SourceAttach: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attach",
        abstract: "Attach a reusable source to a customer, who keeps it.",
        discussion: "A source that can be used once cannot be attached: charge it."
    )

    @Argument(help: "The id, src_….")
    var source: String

    @Option(help: "Whose it is to be, cus_….")
    var customer: String

    @Flag(help: "Print JSON instead of text.")
    var json = false

    @OptionGroup var stripe: StripeOptions

    func run() async throws {
        let attached = try await stripe.perform { client throws(StripeError) in
            try await client.attachSource(
                source,
                toCustomer: customer,
                idempotencyKey: stripe.idempotencyKey
            )
        }
        try attached.show(json: json)
    }
}

/// `pollerctl source detach`: take it from its customer, for good.
struct SourceDetach: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "detach",
        abstract: "Detach a source from its customer, which uses it up for good.",
        discussion: "It cannot be attached or charged again: a status of consumed without a charge."
    )

    @Argument(help: "The id, src_….")
    var source: String

    @Option(help: "Whose it is, cus_…; asked for when absent.")
    var customer: String?

    @Flag(help: "Print JSON instead of text.")
    var json = false

    @OptionGroup var stripe: StripeOptions

    func run() async throws {
        let owner = try await owner()
        let detached = try await stripe.perform { client throws(StripeError) in
            try await client.detachSource(source, fromCustomer: owner)
        }
        try detached.show(json: json)
    }

    private func owner() async throws -> String {
        if let customer { return customer }
        let found = try await stripe.perform(isRead: true) { client throws(StripeError) in
            try await client.retrieveSource(source)
        }
        guard let customer = found.customer else {
            Terminal.printError("\(source) is attached to nobody\n\(found.advice.text)")
            throw ExitCode(1)
        }
        return customer
    }
}

/// `pollerctl source refund-account`: where the money of a transfer can go back to.
struct SourceRefundAccount: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refund-account",
        abstract: "Say where money that was sent to a source can be sent back to.",
        discussion: """
            Money that a customer sent cannot be pulled back: until the account is known, refunds wait. \
            Asked for by the event source.refund_attributes_required. SEPA and Multibanco: --name \
            and --iban; ACH: --name, --holder-type, --routing-number and --account-number.
            """
    )

    @Argument(help: "The id, src_….")
    var source: String

    @Option(help: "Whose account it is.")
    var name: String

    @Option(help: "The account, in Europe.")
    var iban: String?

    @Option(help: "individual or company, in the United States.")
    var holderType: String?

    @Option(help: "The bank, in the United States.")
    var routingNumber: String?

    @Option(help: "The account, in the United States.")
    var accountNumber: String?

    @Option(help: "Street and number.")
    var line1: String?

    @Option(help: "Town.")
    var city: String?

    @Option(help: "Postal code.")
    var postalCode: String?

    @Option(help: "Two letters.")
    var country: String?

    @Flag(help: "Print JSON instead of text.")
    var json = false

    @OptionGroup var stripe: StripeOptions

    func validate() throws {
        let american = [holderType, routingNumber, accountNumber].compactMap(\.self)
        guard iban != nil ? american.isEmpty : american.count == 3 else {
            throw ValidationError(
                "give --iban, or --holder-type, --routing-number and --account-number"
            )
        }
    }

    func run() async throws {
        let found = try await stripe.perform(isRead: true) { client throws(StripeError) in
            try await client.retrieveSource(source)
        }
        guard found.receiver != nil, let attributes = attributes(of: found.type) else {
            Terminal.printError(
                "\(source) is a source of type \(found.type): nobody sends money to it"
            )
            throw ExitCode(1)
        }
        let changed = try await stripe.perform { client throws(StripeError) in
            try await client.setRefundAttributes(
                ofSource: source,
                attributes,
                idempotencyKey: stripe.idempotencyKey
            )
        }
        try changed.show(json: json)
    }

    /// What to send for a type; nil when the options are those of another.
    private func attributes(of type: SourceType) -> SourceRefundAttributes? {
        let address = StripeAddress(
            line1: line1,
            city: city,
            postalCode: postalCode,
            country: country
        )
        switch type {
        case .achCreditTransfer:
            guard let holderType, let routingNumber, let accountNumber else { return nil }
            return .achCreditTransfer(
                holderName: name,
                holderType: holderType,
                routingNumber: routingNumber,
                accountNumber: accountNumber
            )
        case .multibanco:
            return iban.map { .multibanco(holderName: name, iban: $0, address: address) }
        case .sepaCreditTransfer:
            return iban.map { .sepaCreditTransfer(holderName: name, iban: $0, address: address) }
        default: return nil
        }
    }
}

/// `pollerctl source transactions`: the payments that reached a source.
struct SourceTransactions: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transactions",
        abstract: "List the payments that customers sent to a source, newest first."
    )

    @Argument(help: "The id, src_….")
    var source: String

    @Option(help: "At most so many, 1 to 100.")
    var limit = 100

    @Flag(help: "Print JSON instead of a table, one payment a line.")
    var json = false

    @OptionGroup var stripe: StripeOptions

    func run() async throws {
        let page = try await stripe.perform(isRead: true) { client throws(StripeError) in
            try await client.listSourceTransactions(ofSource: source, limit: limit)
        }
        guard !json else {
            for payment in page.data { try payment.showJSON() }
            return
        }
        var table = Table("TRANSACTION", "STATUS", "AMOUNT", "FROM", "REFERENCE")
        table.rows = page.data.map { payment in
            let from = payment.sender.name ?? payment.sender.last4.map { "…\($0)" } ?? ""
            return [
                .init(payment.id, .strong), .init(payment.status?.rawValue ?? ""),
                .init(Money.text(payment.amount, payment.currency)), .init(from),
                .init(payment.sender.reference ?? ""),
            ]
        }
        table.print()
    }
}
