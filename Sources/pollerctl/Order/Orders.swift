import ArgumentParser
import PollerClient
import PollerWire

struct OrderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "order",
        abstract: "Show orders and their payments.",
        discussion: "An order exists once a watch names it: pollerctl enqueue src_123 --order A77.",
        example: "pollerctl order get A77",
        subcommands: [OrderGet.self, OrderList.self]
    )
}

struct OrderGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show an order with its payments.",
        discussion: "Example: pollerctl order get A77"
    )

    @Argument(help: "The order ID.")
    var order: String

    @Option(help: "The account at the upstream (default: default).")
    var account: String?

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            try await client.order(order, account: account).show(json: server.json)
        }
    }
}

struct OrderList: PagedListCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the orders of an account, newest first.",
        discussion: "--json prints one order per line. Example: pollerctl order list --state paid"
    )
    static let route = ListRoute<Order>("/v1/orders", pageMax: 100)

    @Option(help: "Only this state: paid, awaiting_customer, failed, ….")
    var state: String?

    @Flag(help: "Only orders that were paid more than once.")
    var paidTwice = false

    @OptionGroup var pageLimit: PageLimit

    @Option(help: "The account at the upstream (default: default).")
    var account: String?

    @OptionGroup var server: ServerOptions

    func filters(_ client: PollerClient) -> [(String, String?)] {
        [("state", state), ("account", account), ("paid_twice", paidTwice ? "true" : nil)]
    }
}

extension PollerClient {
    /// Reads a watch; `nil` if there is none.
    func watchIfKnown(_ name: WatchName) async throws -> Received<Watch>? {
        do {
            return try await watch(name)
        } catch PollerError.problem(let problem) where problem.code == "watch_not_found" {
            return nil
        }
    }

    /// Runs a request about a watch.
    ///
    /// If there is no such watch but an order with that ID, the error says so.
    func suggestingOrder<Answer>(
        for name: WatchName,
        _ request: () async throws -> Answer
    ) async throws -> Answer {
        do {
            return try await request()
        } catch PollerError.problem(let problem) where problem.code == "watch_not_found" {
            guard let order = try? await order(name.source, account: name.account).value else {
                throw PollerError.problem(problem)
            }
            let account = name.account.map { " --account \($0)" } ?? ""
            let payments = order.members.map(\.source).joined(separator: ", ")
            let noun = order.members.count == 1 ? "payment is" : "payments are"
            throw PollerError.problem(
                problem.withDetail(
                    "\(order.order) is an order: pollerctl timeline --order \(order.order)\(account)"
                        + (payments.isEmpty ? "" : "; its \(noun) \(payments)")
                )
            )
        }
    }
}

extension Order: Shown, Listed {
    var title: String { order }

    var facts: Facts {
        var facts = Facts()
        facts.add("order", order, .strong)
        facts.add("account", account)
        facts.add("state", payment.state.rawValue, Self.colour(payment))
        facts.add("reason", payment.reason)
        facts.add("amount", payment.amount.map(sum))
        facts.add("received", sum(payment.amountReceived))
        facts.add("returned", payment.amountReturned.map(sum))
        facts.add("paid at", at: payment.paidAt)
        facts.add("paid by", paidBy, .good)
        for source in alsoPaidBy ?? [] { facts.add("also paid by", source, .bad) }
        facts.add("charging", charging?.source)
        facts.add("events", "\(seq)")
        facts.add("created", at: createdAt)
        for member in members {
            facts.add("payment", "\(member.source): \(member.payment.state.rawValue)")
        }
        return facts
    }

    static var columns: [Column<Order>] {
        [
            Column("ORDER", .strong, \.order),
            Column("STATE") { $0.payment.state.cell(colour($0.payment)) },
            Column("RECEIVED") { $0.sum($0.payment.amountReceived) },
            Column("PAID BY", drop: 2) {
                ([$0.paidBy].compactMap(\.self) + ($0.alsoPaidBy ?? [])).joined(separator: ", ")
            },
            Column("PAYMENTS", drop: 1, \.members.count),
        ]
    }

    private func sum(_ amount: Int) -> String { Sums.text(amount, payment.currency) }

    /// The colour of a payment state.
    private static func colour(_ payment: Payment) -> Terminal.Colour? {
        switch payment.state.rawValue {
        case "paid": .good
        case "failed", "reversed", "disputed": .bad
        case "unknown": .faint
        default: nil
        }
    }
}
