import ArgumentParser
import PollerWire
import StripeAPI

/// A sum as the lines of commands show it.
enum Money {
    /// An amount with its currency, such as `10.99 eur`; empty without an amount.
    static func text(_ amount: Int?, _ currency: String?) -> String {
        amount.map { Sums.text($0, currency) } ?? ""
    }
}

extension Refund {
    /// Prints the refund.
    func show(json: Bool) throws {
        guard !json else { return try showJSON() }
        var facts = Facts()
        facts.add("refund", id, .strong)
        facts.add("status", status?.rawValue, status?.colour)
        facts.add("amount", Money.text(amount, currency))
        facts.add("charge", charge)
        facts.add("intent", paymentIntent)
        facts.add("reason", reason?.rawValue)
        facts.add("failed", failureReason, .bad)
        if status == .failed {
            facts.add("next", "the money is yours again: send it another way", .careful)
        }
        facts.print()
    }
}

extension RefundStatus {
    /// What colour says of it.
    var colour: Terminal.Colour {
        self == .succeeded ? .good : self == .failed ? .bad : .careful
    }
}

/// `pollerctl refund`: money on its way back.
struct RefundCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refund",
        abstract: "Send money back, and see what became of it.",
        discussion: """
            Talks to Stripe itself: STRIPE_API_KEY is the key, POLLER_STRIPE_API_BASE another \
            address such as a sandbox's.
            """,
        subcommands: [RefundCreate.self, RefundGet.self, RefundList.self, RefundCancel.self]
    )
}

/// `pollerctl refund create`: send money of a charge back.
struct RefundCreate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Send money of a charge back: all that is left of it, or a part.",
        discussion: "A refund may still fail days later; its events say so."
    )

    /// The reasons a caller may give.
    private static let reasons = ["duplicate", "fraudulent", "requested_by_customer"]

    @Argument(help: "The charge, ch_… or py_…, or the intent it belongs to, pi_….")
    var charge: String

    @Option(help: "In the smallest unit; all that is left when absent.")
    var amount: Int?

    @Option(help: "duplicate, fraudulent or requested_by_customer.")
    var reason: String?

    @Option(help: "NAME=VALUE to keep with the refund; may be repeated.")
    var metadata: [NameValue] = []

    @Flag(help: "Print JSON instead of text.")
    var json = false

    @OptionGroup var stripe: StripeOptions

    func validate() throws {
        guard amount ?? 1 > 0 else { throw ValidationError("--amount must be positive") }
        guard reason.map(Self.reasons.contains) ?? true else {
            throw ValidationError("--reason is \(Self.reasons.joined(separator: ", "))")
        }
    }

    func run() async throws {
        var id = charge
        if charge.hasPrefix("pi_") {
            let intent = try await stripe.perform(isRead: true) { client throws(StripeError) in
                try await client.retrievePaymentIntent(charge)
            }
            guard let latest = intent.latestCharge else {
                Terminal.printError("\(charge) has no charge to refund\n\(intent.advice.text)")
                throw ExitCode(1)
            }
            id = latest
        }
        let refund = try await stripe.perform { [id] client throws(StripeError) in
            try await client.refundCharge(
                id,
                amount: amount,
                reason: reason.map(RefundReason.init(rawValue:)),
                metadata: metadata.dictionary,
                idempotencyKey: stripe.idempotencyKey
            )
        }
        try refund.show(json: json)
        if refund.status == .failed { throw ExitCode(1) }
    }
}

/// `pollerctl refund get`: a refund as Stripe has it now.
struct RefundGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show a refund as Stripe has it now."
    )

    @Argument(help: "The id, re_….")
    var refund: String

    @Flag(help: "Print JSON instead of text.")
    var json = false

    @OptionGroup var stripe: StripeOptions

    func run() async throws {
        try await stripe.perform(isRead: true) { client throws(StripeError) in
            try await client.retrieveRefund(refund)
        }.show(json: json)
    }
}

/// `pollerctl refund list`: the refunds of an account or of one charge.
struct RefundList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List refunds, newest first."
    )

    @Option(help: "Only those of this charge, ch_….")
    var charge: String?

    @Option(help: "Only those of this intent, pi_….")
    var intent: String?

    @Option(help: "At most so many, 1 to 100.")
    var limit = 100

    @Flag(help: "Print JSON instead of a table, one refund a line.")
    var json = false

    @OptionGroup var stripe: StripeOptions

    func run() async throws {
        let page = try await stripe.perform(isRead: true) { client throws(StripeError) in
            try await client.listRefunds(charge: charge, paymentIntent: intent, limit: limit)
        }
        guard !json else {
            for refund in page.data { try refund.showJSON() }
            return
        }
        var table = Table("REFUND", "STATUS", "AMOUNT", "CHARGE", "REASON")
        table.rows = page.data.map { refund in
            [
                .init(refund.id, .strong),
                .init(refund.status?.rawValue ?? "", refund.status?.colour),
                .init(Money.text(refund.amount, refund.currency)), .init(refund.charge ?? ""),
                .init(refund.failureReason ?? refund.reason?.rawValue ?? ""),
            ]
        }
        table.print()
    }
}

/// `pollerctl refund cancel`: give a refund up that waits for the customer.
struct RefundCancel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Give up a refund that waits for its customer."
    )

    @Argument(help: "The id, re_….")
    var refund: String

    @Flag(help: "Print JSON instead of text.")
    var json = false

    @OptionGroup var stripe: StripeOptions

    func run() async throws {
        try await stripe.perform { client throws(StripeError) in
            try await client.cancelRefund(refund, idempotencyKey: stripe.idempotencyKey)
        }.show(json: json)
    }
}
