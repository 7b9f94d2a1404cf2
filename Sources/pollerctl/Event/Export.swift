import ArgumentParser
import JSONText
import PollerClient
import PollerWire

struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Export payments as NDJSON, one per line, for an archive.",
        discussion: """
            Each line has the members watch, events (the last 100), digest and timeline, as pollerctl \
            get, events and timeline show them. It scans every watch, takes the same query as pollerctl \
            list, and skips watches deleted meanwhile. Run it more often than closed_retention, and \
            before body_retention to keep the upstream's objects. pollerctl import restores the lines. \
            The digest is the server's signature of watch and events, which proves that the cluster wrote \
            the line. Changing a line invalidates it; changing only white space does not.

            Examples:

              pollerctl export 'closed>2026-11-01' > november.ndjson
              pollerctl export account=shop payment=paid > paid.ndjson
            """
    )

    @Argument(help: "The query, as in pollerctl list (default: all).")
    var query: [String] = []

    @Option(help: "open, closed or quarantined.")
    var state = "closed"

    @Option(help: "The account at the upstream (default: all).")
    var account: String?

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let query = SearchQuery.text(of: query)
            var cursor: String?
            var count = 0
            repeat {
                let page = try await client.list(
                    state: state,
                    account: account,
                    matching: query.isEmpty ? nil : query,
                    limit: ServerOptions.pageMax,
                    cursor: cursor
                )
                for watch in page.items {
                    guard let line = try await line(of: watch, client) else { continue }
                    Terminal.printLine(line)
                    count += 1
                }
                cursor = page.next
            } while cursor != nil
            if Terminal.isErrorInteractive { Terminal.printError("\(count) payments") }
        }
    }

    /// A payment with its events and timeline; `nil` if it was deleted after it was listed.
    ///
    /// The result is one line, whatever line breaks the upstream's object contains.
    private func line(of watch: Received<Watch>, _ client: PollerClient) async throws -> String? {
        let name = WatchName(watch.source, account: watch.account, kind: watch.kind)
        do {
            let line = try await client.archived(name).json
            let timeline = try await client.timeline(of: name).items.map(\.json)
            let whole = #"\#(line.dropLast()),"timeline":[\#(timeline.joined(separator: ","))]}"#
            return RawJSON(unchecked: whole).compacted.description
        } catch PollerError.problem(let problem) where problem.code == "watch_not_found" {
            return nil
        }
    }
}
