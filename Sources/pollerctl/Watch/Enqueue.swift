import ArgumentParser
import JSONText
import PollerClient
import PollerWire

struct Enqueue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Watch sources; join watches that already exist.",
        discussion:
            "All input is validated before anything is sent. Repeating the command is safe.",
        example: "pollerctl enqueue src_123 --order A77 --follow"
    )

    /// More results than this are printed as a summary.
    private static let listedMax = 20
    /// The limit of --follow, which reads each source's history first.
    private static let followedMax = 100

    @Argument(help: "Ids: src_…, pi_…, seti_…, ch_….")
    var sources: [String] = []

    @Option(
        help: "The URL of a source of a configured upstream, instead of its id; may be repeated."
    )
    var sourceURL: [String] = []

    @Option(help: "A file with one id per line, - for standard input; may be repeated.")
    var file: [String] = []

    @OptionGroup var terms: WatchTerms

    @Option(
        help:
            "Before a payment intent's authorisation expires: capture, cancel, or leave (the default)."
    )
    var authorisation: String?

    @Option(help: "If an intent is not paid in time: cancel, or leave (the default).")
    var abandoned: String?

    @Flag(help: "Charge a source's full amount, exactly once, when it becomes chargeable.")
    var chargeWhenChargeable = false

    @Option(help: "Your order ID; it is included in every event.")
    var order: String?

    @Option(help: "Metadata of the watch, NAME=VALUE; may be repeated.")
    var metadata: [NameValue] = []

    @Option(help: "The source's client_secret, if the server polls with a publishable key.")
    var clientSecret: String?

    @Option(
        help: """
            The trace of your request, 00-TRACE-SPAN-FLAGS; it is stored with each watch and passed \
            on in its events and webhooks.
            """,
        transform: Traceparent.checked
    )
    var traceparent: String?

    @Flag(
        help: """
            Wait up to 30 s until each source was polled once; exit 1 if the upstream does not know a \
            source or did not respond.
            """
    )
    var waitFirstPoll = false

    @Flag(help: "Show events until every source is closed.")
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
                "--follow takes at most \(Self.followedMax) sources. Use pollerctl follow for more"
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
                // A program that reads JSON gets only the result.
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
                    "\(refused.count) refused, such as \(first.source): a watch can have at most 64 notify URLs, "
                        + "and its stored record must be readable"
                )
                throw ExitCode(1)
            }
            // The client sends IDs before URLs, each once.
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
            // Outside the default account other commands need --account as well.
            if result.results.contains(where: { $0.account != "default" }) {
                columns.append(Column("NAMED BY") { "\($0.source) --account \($0.account)" })
            }
            Table(columns, result.results).print()
            if duplicates > 0 { Terminal.printLine("\(duplicates) duplicates skipped") }
        } else {
            Terminal.printLine(
                "\(result.results.count) sources: \(result.created) created, "
                    + "\(result.restarted) restarted, \(result.joined) joined; "
                    + "\(duplicates) duplicates skipped"
            )
        }
    }
}

/// The options of every command that creates a watch: policy, goal, timeout and recipients.
struct WatchTerms: ParsableArguments {
    @Option(
        help: """
            How often to poll. auto (the default) and interactive start at 1 s and slow down to \
            15 s: interactive for 10 minutes, auto while the payer is likely to be present. \
            standard slows down to 5 minutes, for a day; patient to an hour, for 30 days. After \
            that, polling continues more slowly until the timeout. A change resets the interval.
            """
    )
    var policy: String?

    @Option(help: "When to stop: left_pending, settled (the default) or final.")
    var until: String?

    @Option(
        help: "How long to wait for the payer, 1s to 90d (default: the lifetime of its kind)."
    )
    var timeout: Span?

    @Option(help: "A recipient: https://…, mailto:… or redis+stream:NAME; may be repeated.")
    var notify: [String] = []

    /// Whether no option was given.
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
    /// The watch of a request that gave a URL.
    fileprivate var name: WatchName { WatchName(source, account: account, kind: "http") }
}
