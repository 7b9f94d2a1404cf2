import ArgumentParser
import JSONText
import PollerClient
import PollerWire

/// `pollerctl export`: what is known of payments, for an archive.
struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write what is known of payments as NDJSON, a line each, for an archive.",
        discussion: """
            pollerctl export 'closed>2026-11-01' > november.ndjson
            pollerctl export account=shop payment=paid > paid.ndjson

            Each line has the members watch, events (the last 100), digest and timeline (who was told what \
            and when), as pollerctl get, events and timeline show them. It looks at every watch, finds by the \
            same words as list, and leaves out what was forgotten meanwhile. Run it more often than \
            closed_retention, and before body_retention where the upstream's objects are to be kept. \
            pollerctl import puts them back: the digest is the server's signature of watch and events, by \
            which the cluster recognises its own lines. Reformatting a line breaks it; white space does not.
            """
    )

    @Argument(help: "What to look for, as in list; everything without.")
    var query: [String] = []

    @Option(help: "open, closed or quarantined.")
    var state = "closed"

    @Option(help: "The account at the upstream; all when absent.")
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

    /// A payment with its events and its timeline; nil when it was forgotten since it was listed.
    ///
    /// It is one physical line for every answer of an upstream.
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
