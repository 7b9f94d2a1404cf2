import ArgumentParser
import Foundation
import StripeAPI

extension Dispute {
    /// Prints the dispute and what has to happen next.
    func show(json: Bool) throws {
        guard !json else { return try showJSON() }
        var facts = Facts()
        facts.add("dispute", id, .strong)
        facts.add("status", status.rawValue, status.colour)
        facts.add("amount", Money.text(amount, currency))
        facts.add("reason", reason)
        facts.add("charge", charge)
        facts.add("intent", paymentIntent)
        facts.add("answer until", evidenceDetails?.dueBy.map(Self.day))
        facts.add("next", advice, .careful)
        facts.print()
    }

    /// What has to happen next, in a sentence.
    var advice: String {
        switch status {
        case .warningNeedsResponse:
            "the bank asks: answer with pollerctl dispute answer \(id), or refund the charge"
        case .needsResponse: "answer with pollerctl dispute answer \(id), or lose the money"
        case .warningUnderReview, .underReview: "wait: the bank decides, which takes weeks"
        case .won: "the money is back"
        case .lost: "the money is gone: settle it with the customer"
        case .warningClosed: "nothing: it came to nothing"
        default: "look at it in the Dashboard"
        }
    }

    /// Seconds since 1970 as a day, in UTC.
    fileprivate static func day(_ seconds: Int) -> String {
        Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601.year().month().day())
    }
}

extension DisputeStatus {
    /// What colour says of it.
    var colour: Terminal.Colour {
        switch self {
        case .won, .warningClosed, .prevented: .good
        case .lost: .bad
        default: .careful
        }
    }
}

/// `pollerctl dispute`: customers and banks that want their money back.
struct DisputeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dispute",
        abstract: "See disputes, and answer them.",
        discussion: """
            due asks the cluster. All others talk to Stripe itself: STRIPE_API_KEY is the key, \
            POLLER_STRIPE_API_BASE another address such as a sandbox's.
            """,
        subcommands: [
            DisputesDue.self, DisputeList.self, DisputeGet.self, DisputeAnswer.self,
            DisputeClose.self,
        ]
    )
}

/// `pollerctl dispute list`: the disputes of an account, a charge or an intent.
struct DisputeList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List disputes, newest first."
    )

    @Option(help: "Only those of this charge, ch_….")
    var charge: String?

    @Option(help: "Only those of this intent, pi_….")
    var intent: String?

    @Flag(help: "Only those that can still be answered.")
    var open = false

    @Option(help: "At most so many are looked at, 1 to 100.")
    var limit = 100

    @Flag(help: "Print JSON instead of a table, one dispute a line.")
    var json = false

    @OptionGroup var stripe: StripeOptions

    func run() async throws {
        let page = try await stripe.perform(isRead: true) { client throws(StripeError) in
            try await client.listDisputes(charge: charge, paymentIntent: intent, limit: limit)
        }
        let found = page.data.filter { dispute in
            let waits = [.needsResponse, .warningNeedsResponse].contains(dispute.status)
            return !open || waits
        }
        guard !json else {
            for dispute in found { try dispute.showJSON() }
            return
        }
        var table = Table("DISPUTE", "STATUS", "AMOUNT", "REASON", "CHARGE", "ANSWER UNTIL")
        table.rows = found.map { dispute in
            [
                .init(dispute.id, .strong), .init(dispute.status.rawValue, dispute.status.colour),
                .init(Money.text(dispute.amount, dispute.currency)), .init(dispute.reason ?? ""),
                .init(dispute.charge ?? ""),
                .init(dispute.evidenceDetails?.dueBy.map(Dispute.day) ?? "", .careful),
            ]
        }
        table.print()
    }
}

/// `pollerctl dispute get`: a dispute as Stripe has it now.
struct DisputeGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show a dispute as Stripe has it now, and what has to happen next."
    )

    @Argument(help: "The id, dp_….")
    var dispute: String

    @Flag(help: "Print JSON instead of text.")
    var json = false

    @OptionGroup var stripe: StripeOptions

    func run() async throws {
        try await stripe.perform(isRead: true) { client throws(StripeError) in
            try await client.retrieveDispute(dispute)
        }.show(json: json)
    }
}

/// `pollerctl dispute answer`: what speaks against it.
struct DisputeAnswer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "answer",
        abstract: "Send evidence against a dispute.",
        discussion: """
            A bank reads it once: collect with --draft, and send at the end. Names are Stripe's: \
            pollerctl dispute answer dp_… --evidence shipping_tracking_number=1Z… \
            --evidence uncategorized_text='Signed for by the customer.'
            """
    )

    @Argument(help: "The id, dp_….")
    var dispute: String

    @Option(help: "NAME=VALUE by Stripe's names; may be repeated.")
    var evidence: [NameValue]

    @Flag(help: "Keep it at Stripe, and send it later.")
    var draft = false

    @Flag(help: "Print JSON instead of text.")
    var json = false

    @OptionGroup var stripe: StripeOptions

    func run() async throws {
        try await stripe.perform { client throws(StripeError) in
            try await client.answerDispute(
                dispute,
                evidence: evidence.dictionary,
                submit: !draft,
                idempotencyKey: stripe.idempotencyKey
            )
        }.show(json: json)
    }
}

/// `pollerctl dispute close`: give in.
struct DisputeClose: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "close",
        abstract: "Give in: the dispute is lost, and the money with it."
    )

    @Argument(help: "The id, dp_….")
    var dispute: String

    @Flag(help: "Print JSON instead of text.")
    var json = false

    @OptionGroup var stripe: StripeOptions

    func run() async throws {
        try await stripe.perform { client throws(StripeError) in
            try await client.closeDispute(dispute, idempotencyKey: stripe.idempotencyKey)
        }.show(json: json)
    }
}
