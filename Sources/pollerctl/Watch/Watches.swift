import ArgumentParser
import Foundation
import PollerClient
import PollerWire
import SafeNumbers

import struct PollerClient.Page

struct Get: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show a watch.",
        discussion: RefusedTargets.help("some sources"),
        example: "pollerctl get src_123"
    )

    @OptionGroup var targets: WatchTargets

    func run() async throws {
        let server = targets.server
        try await server.perform { client in
            let names = targets.ids(client)
            try await server.each(names) { name in
                let watch = try await client.suggestingOrder(for: name) {
                    try await client.watch(name)
                }
                if !server.json, name != names.first { Terminal.printLine("") }
                watch.show(json: server.json)
            }
        }
    }
}

/// The watches of the sources that a command names.
struct WatchTargets: Targets {
    @Argument(help: "The source ids.")
    var sources: [String]

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws { try names.check(sources) }

    func ids(_ client: PollerClient) -> [WatchName] { sources.map(names.name) }
}

struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Search or list watches, newest first.",
        discussion: """
            Fields: source, order, account, kind, status, payment, state, ended, method, amount, \
            currency, endpoint, error, created, closed, indexed metadata (option search of pollerd) by \
            name, and other metadata as metadata.NAME. Operators: =, != and, for ordered values, < and >. \
            Separate several values with commas; Mül* matches a prefix. Fields without an index are \
            searched in the newest 20,000 watches, or in all with --everything. --json prints one watch \
            per line.

            Examples:

              pollerctl list A77                        source, charge, or order or name prefix
              pollerctl list €49.90                     amount, also 49.90 or 49,90
              pollerctl list order=A77 payment=failed   all conditions must match
              pollerctl list status=pending 'created>2d' account=shop
              pollerctl list 'customer=Jane Doe' amount=49.90
              pollerctl list error=any --since 7d --until 2026-11-30
              pollerctl list payment=authorised --summary
              pollerctl list account=shop --csv > payments.csv
            """
    )

    /// The most watches scanned without `--everything`, which takes some seconds.
    private static let scanMax = 20_000

    @Argument(
        help: """
            The query; all conditions must match. A whole number is in the smallest unit: \
            'amount>=70' is 70 cents, 'amount>=70.00' and 'amount>=€70' are 70 euros.
            """
    )
    var query: [String] = []

    @Flag(help: "Search all watches, however many there are.")
    var everything = false

    @Option(help: "open, closed or quarantined.")
    var state: String?

    @Option(help: "Only this status.")
    var status: String?

    @Option(help: "Only this payment state: authorised, paid, refunded, ….")
    var payment: String?

    @Option(help: "Maximum number of watches (default: 100; no limit for --csv).")
    var limit: Int?

    @OptionGroup var output: ListOutput
    @OptionGroup var created: CreatedOptions
    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard limit ?? 1 >= 1 else { throw ValidationError("--limit must be at least 1") }
        guard !server.json || !output.csv else {
            throw ValidationError("--json and --csv cannot be used together; remove one of them")
        }
        // The query is sent in a URL, which may be logged.
        if let secret = query.lazy.compactMap({ SecretShape($0, isName: true) }).first {
            throw ValidationError("this \(secret.advice)")
        }
    }

    func run() async throws {
        try await server.perform { client in
            let query = SearchQuery.text(of: query)
            if output.summary {
                let summary = try await client.summary(
                    state: state,
                    status: status,
                    payment: payment,
                    account: names.account,
                    kind: names.kind,
                    createdAfter: created.after,
                    createdBefore: created.before,
                    matching: query.isEmpty ? nil : query
                )
                return summary.show(json: server.json)
            }
            func page(_ limit: Int, _ cursor: String?) async throws -> Page<Watch> {
                try await client.list(
                    state: state,
                    status: status,
                    payment: payment,
                    account: names.account,
                    kind: names.kind,
                    createdAfter: created.after,
                    createdBefore: created.before,
                    matching: query.isEmpty ? nil : query,
                    limit: limit,
                    cursor: cursor
                )
            }
            guard !output.csv else { return try await output.writeCSV(limit: limit, page: page) }
            let scanMax = everything || query.isEmpty ? Int.max : Self.scanMax
            let count = try await server.list(
                Watch.columns,
                limit: limit ?? 100,
                scanMax: scanMax,
                page: page
            )
            if count == 0, let advice = status.flatMap(KnownValues.advice(onStatus:)) {
                Terminal.printError(advice)
            }
        }
    }
}

struct Wait: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Wait until a source has a status or payment state.",
        discussion: "Exit status: 0 reached, 2 closed otherwise, 3 timed out.",
        example: "pollerctl wait src_123 --until paid --timeout 5m"
    )

    @Argument(help: "The source id.")
    var source: String

    @Option(
        help: """
            final, left_pending, a status such as chargeable, paid, or payment.STATE for another \
            payment state, such as payment.refunded.
            """
    )
    var until = "final"

    @Option(help: "How long to wait.")
    var timeout = Span(.seconds(120))

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        try names.check([source])
        guard case .status(let status) = try goal() else { return }
        try KnownValues.check(status: status, of: names.kind(of: source), option: "--until")
    }

    func run() async throws {
        let goal = try goal()
        try await server.perform { client in
            let result = try await client.wait(
                for: names.name(source),
                until: goal,
                timeout: timeout.duration
            )
            switch result {
            case .reached(let watch): show(watch)
            case .closed(let watch):
                show(watch)
                let reason = watch.closedReason ?? "?"
                // The payment may still change after settlement, which is reported as an event.
                let end = if case .payment = goal { "is not" } else { "will not be" }
                Terminal.printError("\(source) is closed (\(reason)) and \(end) \(until)")
                throw ExitCode(2)
            case .timedOut(let watch):
                show(watch)
                Terminal.printError("\(source) is not \(until) yet\nWait longer with --timeout.")
                throw ExitCode(3)
            }
        }
    }

    private func goal() throws -> WaitGoal {
        switch until {
        case "final": return .final
        case "left_pending": return .leftPending
        case "paid": return .payment(.paid)
        case let name where name.hasPrefix("payment."):
            guard let state = Payment.State(rawValue: String(name.dropFirst("payment.".count)))
            else {
                let known = Payment.State.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("--until payment.STATE takes one of \(known)")
            }
            return .payment(state)
        default: return .status(until.lowercased())
        }
    }

    private func show(_ watch: Received<Watch>) {
        guard !server.json else { return Terminal.printJSON(watch.json) }
        let words = [watch.source, watch.status ?? "not polled yet", watch.payment?.state.rawValue]
        Terminal.printLine(words.compactMap(\.self).map(Terminal.clean).joined(separator: "\t"))
    }
}

struct Cancel: ChangeCommand {
    static let configuration = CommandConfiguration(
        abstract: "Stop watching a source; the source itself stays unchanged.",
        discussion: RefusedTargets.help("some sources"),
        example: "pollerctl cancel src_123"
    )

    @OptionGroup var targets: WatchTargets

    func change(_ id: WatchName, _ client: PollerClient) async throws -> (Received<Watch>, String) {
        (try await client.cancel(id), "is no longer watched")
    }
}

extension Watch: Shown, Listed {
    var title: String { source }

    var facts: Facts {
        var facts = Facts()
        facts.add("source", source, .strong)
        facts.add("account", account)
        facts.add("kind", kind.rawValue)
        facts.add("state", isOpen ? "open" : "closed (\(closedReason?.rawValue ?? "?"))")
        facts.add("status", status ?? "not polled yet", Self.colour(status, isFinal: isFinal))
        facts.add("final", isFinal ? "yes" : "no")
        facts.add(payment, nextStep)
        facts.add("amount", amountOfObject)
        facts.add("owner", owner)
        facts.add("seq", "\(seq), run \(run)")
        facts.add("until", until.rawValue)
        facts.add("polls", "\(attempts), policy \(policy)")
        facts.add("created", at: createdAt)
        facts.add("deadline", at: deadlineAt)
        facts.add("next poll", at: nextPollAt)
        if lastError != nil, let lastPolledAt {
            let people = "\(lastPolledAt)  (\(lastPolledAt.relative())), failed"
            facts.add(
                "last poll",
                .init(people: people, programs: "\(lastPolledAt)", .careful)
            )
        } else {
            facts.add("last poll", at: lastPolledAt)
        }
        facts.add("last error", lastError, .careful)
        facts.add("deprecated", deprecation?.text, .faint)
        facts.add("unknown", unknown, .careful)
        for url in notify { facts.add("notify", url) }
        facts.add("order", order)
        for (name, value) in metadata.dictionary.sorted(by: { $0.key < $1.key }) {
            facts.add("metadata", "\(name)=\(value)")
        }
        return facts
    }

    /// What is unknown because polls failed; `nil` if they succeed.
    private var unknown: String? {
        if closedReason == "expired", status == nil || lastError != nil {
            return
                "whether it was paid, because the last polls failed; run pollerctl poll"
        }
        guard isOpen, lastError != nil else { return nil }
        return status == nil
            ? "its status: no poll has succeeded yet"
            : "whether this is current: the last poll failed"
    }

    static var columns: [Column<Watch>] {
        // New columns go last, because scripts use the positions.
        [
            Column("SOURCE", .strong, \.source),
            Column("STATE") { $0.isOpen ? "open" : $0.closedReason?.rawValue ?? "closed" },
            Column("STATUS", drop: 5) {
                Table.Cell($0.status ?? "-", colour($0.status, isFinal: $0.isFinal))
            },
            Column("SEQ", drop: 1, \.seq), Column("POLLS", drop: 2, \.attempts),
            Column("NEXT POLL", drop: 3, \.nextPoll),
            Column("PAYMENT") { Payment.cell($0.payment) },
            Column("ACCOUNT", drop: 8, \.account),
            Column("AMOUNT") { $0.payment?.amountShown ?? $0.amountOfObject },
            Column("METHOD", drop: 4) { $0.payment?.method }, Column("ORDER", drop: 7, \.order),
            Column("AGE", .faint, drop: 6) {
                Duration.seconds(-$0.createdAt.date.timeIntervalSinceNow).shown
            },
        ]
    }

    /// The next poll; for an overdue watch how late it is.
    private var nextPoll: Table.Cell {
        guard let nextPollAt else { return .init("-") }
        let lateMs = Int64(saturating: -nextPollAt.date.timeIntervalSinceNow * 1000)
        guard lateMs > -1000 else { return nextPollAt.cell() }
        let isLate = lateMs > ClusterView.lateMs
        let shown = isLate ? "\(Duration.milliseconds(lateMs).shown) late" : "now"
        return .init(people: shown, programs: "\(nextPollAt)", isLate ? .careful : nil)
    }

    static func colour(_ status: String?, isFinal: Bool) -> Terminal.Colour? {
        switch status {
        case "chargeable", "consumed", "succeeded", "requires_capture": .good
        case "failed", "canceled": .bad
        case nil: .faint
        default: isFinal ? .strong : nil
        }
    }
}
