import ArgumentParser
import Foundation
import PollerClient
import PollerWire
import SafeNumbers
import StripeAPI

/// `pollerctl reconcile`: compares payments at Stripe with the cluster's watches.
///
/// It pages through Stripe's charges and balance transactions and the cluster's watches. Balance transactions cover
/// changes of older charges, such as a refund today of last month's payment.
struct Reconcile: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reconcile",
        abstract: "Compare Stripe's charges and balance with the cluster's watches.",
        discussion: """
            Finds payments that were paid but not reported, reported but not paid, refunded but not \
            reported, charged but not watched, and chargeable but not charged. --mend polls the watches \
            again and watches unwatched sources; it never charges. Exit status: 0 both agree, 1 they \
            differ.
            """,
        example: "pollerctl reconcile --since 7d --mend"
    )

    @Option(help: "How far back, 1h to 30d.")
    var since = Span(.seconds(86_400))

    @Option(help: "Ignore payments younger than this, which may still be in progress.")
    var grace = Span(.seconds(120))

    @Option(help: "The cluster's account name (default: default).")
    var account: String?

    @Flag(help: "Poll differing watches again, and watch unwatched sources.")
    var mend = false

    @OptionGroup var stripe: StripeOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard (3600...2_592_000).contains(since.duration.components.seconds) else {
            throw ValidationError("--since must be 1h to 30d")
        }
    }

    func run() async throws {
        let now = Int(saturating: Date().timeIntervalSince1970)
        let bounds = TimeBounds(
            from: now - Int(clampingSafe: since.duration.components.seconds),
            through: now - Int(clampingSafe: grace.duration.components.seconds)
        )
        let seen = try await stripe.perform(isRead: true) { client throws(StripeError) in
            try await charges(client, bounds)
        }
        var found: [Reconciliation.Difference] = []
        try await server.perform { cluster in
            for subject in seen.charges.keys.sorted() {
                let watch = try await cluster.watchIfKnown(WatchName(subject, account: account))
                if let difference = seen.judge(subject, watch: watch?.value) {
                    found.append(difference)
                }
            }
            found += try await watchDifferences(
                cluster,
                seen,
                since: Int64(clamping: bounds.from ?? 0) * 1000
            )
            if mend {
                for index in found.indices { try await mend(&found[index], cluster) }
            }
        }
        try show(found, charges: seen.charges.values.reduce(0) { $0 + $1.count })
        guard found.isEmpty else { throw ExitCode(1) }
    }

    /// Reads the charges created in a period, and older charges with balance transactions in it.
    private func charges(
        _ client: StripeClient,
        _ bounds: TimeBounds
    ) async throws(StripeError) -> Reconciliation {
        var seen = Reconciliation()
        for try await charge in client.charges(created: bounds) { seen.add([charge]) }
        for try await line in client.balanceTransactions(created: bounds) {
            guard let id = try await charge(of: line, client), !seen.has(id) else { continue }
            seen.add([try await client.retrieveCharge(id)])
        }
        return seen
    }

    /// The charge of a balance transaction; `nil` for payouts, fees and other types.
    private func charge(
        of line: BalanceTransaction,
        _ client: StripeClient
    ) async throws(StripeError) -> String? {
        guard let id = line.source else { return nil }
        switch line.type {
        case .charge, .payment, .paymentFailureRefund: return id
        case .refund, .paymentRefund, .refundFailure:
            return try await client.retrieveRefund(id).charge
        case .adjustment where line.reportingCategory?.hasPrefix("dispute") == true:
            return try await client.retrieveDispute(id).charge
        default: return nil
        }
    }

    /// Watches that report payments without a charge, and sources that can be charged.
    private func watchDifferences(
        _ cluster: PollerClient,
        _ seen: Reconciliation,
        since: Int64
    ) async throws -> [Reconciliation.Difference] {
        var found: [Reconciliation.Difference] = []
        var cursor: String?
        repeat {
            let page = try await cluster.list(
                account: account,
                limit: ServerOptions.pageMax,
                cursor: cursor
            )
            for watch in page.items.map(\.value) {
                if let difference = seen.judge(reportedBy: watch, since: since) {
                    found.append(difference)
                }
                guard watch.status == "chargeable", watch.createdAt.ms >= since else { continue }
                let source = try await stripe.perform(isRead: true) { client throws(StripeError) in
                    try await client.retrieveSource(watch.source)
                }
                if let difference = seen.judge(chargeable: source) { found.append(difference) }
            }
            cursor = page.next
        } while cursor != nil
        return found
    }

    /// Fixes a difference by polling or watching; a charge needs a person's decision.
    private func mend(
        _ difference: inout Reconciliation.Difference,
        _ cluster: PollerClient
    ) async throws {
        guard difference.kind != .uncharged else { return }
        let name = WatchName(difference.source, account: account)
        do {
            if difference.kind != .unknown {
                _ = try await cluster.poll(name)
                difference.mended = "polled"
                return
            }
        } catch PollerError.problem(let problem) where (400..<500).contains(problem.status) {
            // A closed watch may have to be reopened by enqueueing it.
        }
        let result = try await cluster.enqueue(WatchRequest(name))
        difference.mended = "watched, run \(result.value.run)"
    }

    private func show(_ found: [Reconciliation.Difference], charges: Int) throws {
        guard !server.json else {
            for difference in found { try difference.showJSON() }
            return
        }
        let columns: [Column<Reconciliation.Difference>] = [
            Column("CLASS", .careful, \.kind.rawValue), Column("SOURCE", .strong, \.source),
            Column("CHARGE") { $0.charge ?? "" }, Column("MESSAGE", \.message),
            Column("MENDED", .good) { $0.mended ?? "" },
        ]
        Table(columns, found).print()
        let result = found.isEmpty ? "all agree" : "\(found.count) differ"
        Terminal.printError("compared \(charges) charges with their watches: \(result)")
    }
}
