import ArgumentParser
import JSONText
import PollerClient
import PollerWire

/// `pollerctl enqueue`: watch sources, one or a hundred thousand.
struct Enqueue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Watch sources, or join those that are watched already.",
        discussion: "Everything is checked before anything is sent; repeating the command is safe."
    )

    /// More lines than this are a summary.
    private static let listedMax = 20
    /// With --follow each source's history is read first.
    private static let followedMax = 100

    @Argument(help: "Ids: src_…, pi_…, seti_…, ch_….")
    var sources: [String] = []

    @Option(
        help: "The URL of a source of a configured upstream, in place of its id; may be repeated."
    )
    var sourceURL: [String] = []

    @Option(help: "A file with one id a line, - for the standard input; may be repeated.")
    var file: [String] = []

    @OptionGroup var terms: WatchTerms

    @Option(
        help: "Before the hold of a payment intent ends: capture, cancel, or leave (the default)."
    )
    var authorisation: String?

    @Option(help: "If nobody has paid an intent in time: cancel, or leave (the default).")
    var abandoned: String?

    @Flag(help: "Charge all of a source, exactly once, when it becomes chargeable.")
    var chargeWhenChargeable = false

    @Option(help: "The order that is paid by them, as you call it; it is in each of their events.")
    var order: String?

    @Option(help: "NAME=VALUE to keep with the watch; may be repeated.")
    var metadata: [NameValue] = []

    @Option(help: "The source's client_secret, where the server polls with a publishable key.")
    var clientSecret: String?

    @Option(
        help: """
            The trace of your request, 00-TRACE-SPAN-FLAGS, kept with each watch and carried on by \
            its events and webhooks.
            """,
        transform: Traceparent.checked
    )
    var traceparent: String?

    @Flag(
        help: """
            Then wait until each source was polled once, for 30 s at most; status 1 when the \
            upstream does not know one, or could not be asked.
            """
    )
    var waitFirstPoll = false

    @Flag(help: "Then show events until every source is closed.")
    var follow = false

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func run() async throws {
        let isByURL = sources.isEmpty && file.isEmpty && !sourceURL.isEmpty
        let list =
            try isByURL
            ? nil
            : SourceList(arguments: sources, files: file, needsPrefix: names.kind == nil)
        let ids = list?.ids ?? []
        if follow, ids.count + sourceURL.count > Self.followedMax {
            throw ValidationError(
                "--follow shows at most \(Self.followedMax) sources; use pollerctl follow for all"
            )
        }
        if waitFirstPoll, ids.count + sourceURL.count > Self.followedMax {
            throw ValidationError("--wait-first-poll takes at most \(Self.followedMax) sources")
        }
        let named = ids.map { WatchRequest(names.name($0)) }
        let requests = (named + sourceURL.map { WatchRequest(url: $0, account: names.account) })
            .map { request in
                var request = request
                terms.apply(to: &request)
                request.clientSecret = clientSecret
                request.authorisation = authorisation.map(Open.init(rawValue:))
                request.abandoned = abandoned.map(Open.init(rawValue:))
                request.charge = chargeWhenChargeable ? .whole : nil
                request.order = order
                request.metadata = metadata.isEmpty ? nil : Texts(metadata.dictionary)
                return request
            }
        try await server.perform { client in
            let isMany = requests.count > Self.listedMax
            let result = try await SlowRequestNotice.during(
                // Programs that read JSON see the end alone.
                server.json && !Terminal.isErrorInteractive ? nil : client.url,
                hasTimer: !isMany
            ) { notice in
                try await client.enqueue(requests, traceparent: traceparent) { done in
                    guard isMany else { return }
                    Terminal.showProgress(
                        "\(done) of \(requests.count)",
                        isLast: done == requests.count
                    )
                } retrying: { error in
                    notice.reportRetry(after: error)
                }
            }
            try show(result, duplicates: list?.duplicates ?? 0)
            if !server.json, let deprecation = result.deprecation {
                Terminal.printError("deprecated: \(deprecation.text)")
            }
            let refused = result.results.filter { $0.outcome == Open(.refused) }
            if let first = refused.first {
                Terminal.printError(
                    "\(refused.count) refused, as \(first.source): it would tell more than the 64 URLs that a watch can"
                )
                throw ExitCode(1)
            }
            // Ids are sent before URLs, and each only once.
            let runs = Dictionary(
                result.results.enumerated().map { index, line in
                    (index < ids.count ? names.name(line.source) : line.name, line.run)
                }
            ) { first, _ in first }
            if waitFirstPoll { try await FirstPoll.wait(for: Array(runs.keys), client) }
            guard follow else { return }
            try await Follow.untilClosed(runs, client: client, json: server.json)
        }
    }

    private func show(_ result: BatchResult, duplicates: Int) throws {
        let duplicates = duplicates + result.duplicates
        if server.json {
            var summary = result
            summary.duplicates = duplicates
            Terminal.printJSON(RawJSON(unchecked: summary.json).inOrder)
        } else if result.results.count <= Self.listedMax {
            var columns: [Column<BatchResult.Result>] = [
                Column("SOURCE", .strong, \.source),
                Column("OUTCOME") { $0.outcome.cell($0.outcome == Open(.joined) ? nil : .good) },
                Column("RUN", \.run), Column("SEQ", \.seq),
            ]
            // An id that others may have too is told with the account that other commands need.
            if result.results.contains(where: { $0.account != "default" }) {
                columns.append(Column("NAMED BY") { "\($0.source) --account \($0.account)" })
            }
            Table(columns, result.results).print()
            if duplicates > 0 { Terminal.printLine("\(duplicates) duplicates left out") }
        } else {
            Terminal.printLine(
                "\(result.results.count) sources: \(result.created) created, "
                    + "\(result.restarted) restarted, \(result.joined) joined; "
                    + "\(duplicates) duplicates left out"
            )
        }
    }
}

/// The options of every command that begins a watch: policy, end, timeout and recipients.
struct WatchTerms: ParsableArguments {
    @Option(
        help: """
            How often to poll. auto (the default) and interactive begin with 1 s and slow down to \
            15 s: interactive for 10 minutes, auto as long as the payer is likely to be there. \
            standard slows down to 5 minutes, for a day; patient to an hour, for 30 days. Beyond \
            that each goes on, slower, until the timeout. A change makes the interval short again.
            """
    )
    var policy: String?

    @Option(help: "How far to follow: left_pending, settled (the default) or final.")
    var until: String?

    @Option(
        help: "How long to wait for the payer, 1s to 90d; as long as its kind lives when absent."
    )
    var timeout: Span?

    @Option(help: "A recipient: https://…, mailto:… or redis+stream:NAME; may be repeated.")
    var notify: [String] = []

    /// Whether none of them is given.
    var isEmpty: Bool { policy == nil && until == nil && timeout == nil && notify.isEmpty }

    /// Sets the options that were given.
    func apply(to request: inout WatchRequest) {
        request.policy = policy.map(Open.init(rawValue:))
        request.until = until.map(Open.init(rawValue:))
        request.timeout = timeout
        request.notify = notify.isEmpty ? nil : notify
    }
}

extension BatchResult.Result {
    /// The watch of a request that named it by its URL.
    fileprivate var name: WatchName { WatchName(source, account: account, kind: "http") }
}
