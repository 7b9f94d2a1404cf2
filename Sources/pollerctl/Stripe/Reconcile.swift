import ArgumentParser
import Foundation
import PollerClient
import PollerWire
import SafeNumbers
import StripeAPI

/// `pollerctl reconcile`: whether what Stripe took and what the cluster told are the same.
///
/// Two sides, each asked in pages: Stripe's charges and the lines of its balance, and the cluster's watches. The balance
/// brings in what moved of older charges: a refund today of last month's payment.
struct Reconcile: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reconcile",
        abstract: "Compare Stripe's charges and balance with what was watched and told.",
        discussion: """
            Finds what was paid and not told, told and not paid, gone back and not told, charged and not \
            watched, and chargeable and not charged. --mend looks again, and watches what is not \
            watched; it never charges anything. Exit status: 0 both agree, 1 they differ.
            """
    )

    @Option(help: "How far back, 1h to 30d.")
    var since = Span(.seconds(86_400))

    @Option(help: "What is younger may still be on its way, and is left out.")
    var grace = Span(.seconds(120))

    @Option(help: "The cluster's name of the account; default when absent.")
    var account: String?

    @Flag(help: "Look again at what differs, and watch what is not watched.")
    var mend = false

    @OptionGroup var stripe: StripeOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard (3600...2_592_000).contains(since.duration.components.seconds) else {
            throw ValidationError("--since is 1h to 30d")
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

    /// The charges of a time, and those that moved in it.
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

    /// The charge that a line of the balance is about; nil for payouts, fees and the like.
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

    /// What watches say that charges do not bear out, and sources that wait to be charged.
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

    /// What a machine may do: look, and watch; a charge is a person's to make.
    private func mend(
        _ difference: inout Reconciliation.Difference,
        _ cluster: PollerClient
    ) async throws {
        guard difference.kind != .uncharged else { return }
        let name = WatchName(difference.source, account: account)
        do {
            if difference.kind != .unknown {
                _ = try await cluster.poll(name)
                difference.mended = "looked at"
                return
            }
        } catch PollerError.problem(let problem) where (400..<500).contains(problem.status) {
            // A watch that is closed may have to be opened anew.
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
            Column("CHARGE") { $0.charge ?? "" }, Column("WHAT", \.message),
            Column("MENDED", .good) { $0.mended ?? "" },
        ]
        Table(columns, found).print()
        let word = found.isEmpty ? "all agree" : "\(found.count) differ"
        Terminal.printError("\(charges) charges held against their watches: \(word)")
    }
}
