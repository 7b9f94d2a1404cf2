import ArgumentParser
import Foundation
import JSONText
import PollerClient
import PollerWire

import struct PollerClient.Page

struct Audit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the log of changes, newest first.",
        discussion: """
            Lists changes made with API keys, by the configuration file and by the system, and \
            requests that a key was not allowed to make. --json prints one change per line with every \
            field. The newest 20,000 entries are kept for up to 400 days; the server's log has all of them.
            """,
        example: "pollerctl audit --since 1d --action pauseLane"
    )

    /// The interval between requests with --follow.
    private static let interval = Duration.seconds(2)

    @Option(help: "Start at a time, or this long ago, such as 1d.")
    var since: PastInstant?

    @Option(help: "Only changes by this key: its name or its id.")
    var by: String?

    @Option(help: "Only this operation, such as pauseLane or changeEndpoint.")
    var action: String?

    @Option(help: "Only changes to the watch, endpoint, lane, delivery or key with this id.")
    var target: String?

    @Option(help: "Only changes in this account.")
    var account: String?

    @Option(help: "Maximum number of entries.")
    var limit = 50

    @Flag(help: "Keep showing changes as they are made, newest last.")
    var follow = false

    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard limit > 0 else { throw ValidationError("--limit must be 1 or more") }
    }

    func run() async throws {
        try await server.perform { client in
            guard !follow else { return try await followChanges(client) }
            try await server.list(AuditEntry.columns, limit: limit) { limit, cursor in
                try await page(client, since: since?.date, limit: limit, cursor: cursor)
            }
        }
    }

    private func page(
        _ client: PollerClient,
        since: Date?,
        limit: Int,
        cursor: String?
    ) async throws -> Page<AuditEntry> {
        try await client.changes(
            by: by,
            action: action,
            target: target,
            account: account,
            since: since,
            limit: limit,
            cursor: cursor
        )
    }

    /// Prints existing changes, then new ones until the command is interrupted.
    ///
    /// An outage is reported, and reads after the first one are repeated.
    private func followChanges(_ client: PollerClient) async throws {
        var seen: (at: Date, ids: Set<String>) = (since?.date ?? .now, [])
        if since == nil {
            // All changes after the last one are new, because the clock of this machine may be wrong.
            let latest = try await client.changes().items.map(\.value)
            if let last = latest.first {
                seen = (last.at.date, Set(latest.filter { $0.at == last.at }.map(\.id)))
            }
        }
        var (hasAnswered, isUnavailable) = (since == nil, false)
        var backoff = Backoff()
        while true {
            let since = seen.at
            let found: [Received<AuditEntry>]
            do {
                found = try await client.everything { cursor in
                    try await page(
                        client,
                        since: since,
                        limit: ServerOptions.pageMax,
                        cursor: cursor
                    )
                }
            } catch let error as PollerError where error.isTransient && hasAnswered {
                if !isUnavailable { Failure.report(outage: error, of: client.url) }
                isUnavailable = true
                try await backoff.sleep(atLeast: error.retryAfter)
                continue
            }
            if isUnavailable { Failure.report(outage: nil, of: client.url) }
            (hasAnswered, isUnavailable) = (true, false)
            backoff.reset()
            let entries = found.filter { !seen.ids.contains($0.value.id) }
            for entry in entries.reversed() { entry.show(json: server.json) }
            if let newest = entries.first {
                // The next page repeats the entries of this millisecond.
                let same = entries.filter { $0.value.at == newest.value.at }.map(\.value.id)
                let old = newest.value.at.date == seen.at ? seen.ids : []
                seen = (newest.value.at.date, old.union(same))
            }
            try await Task.sleep(for: Self.interval)
        }
    }
}

/// A past instant, given as a time or as a duration before now.
struct PastInstant: ExpressibleByArgument {
    let date: Date

    init?(argument: String) {
        if let span = Span(argument: argument) {
            date = Date(timeIntervalSinceNow: -Double(span.duration.components.seconds))
            return
        }
        let whole = try? Date(argument, strategy: .iso8601)
        let fraction = try? Date(
            argument,
            strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        )
        guard let date = fraction ?? whole else { return nil }
        self.date = date
    }
}

extension Received<AuditEntry> {
    /// Prints the change on one line: the server's JSON, or text.
    fileprivate func show(json isJSON: Bool) {
        guard !isJSON else { return Terminal.printJSON(json) }
        let row = AuditEntry.columns.map { $0.cell(value) }
        Terminal.printLine(Terminal.isInteractive ? row.filter { $0.text != "-" } : row)
    }
}

extension AuditEntry: Listed {
    static var columns: [Column<AuditEntry>] {
        [
            Column("AT", .faint, \.at), Column("BY", .strong, \.by), Column("ACTION", \.action),
            Column("TARGET") { entry in
                let id = entry.target.id
                return "\(entry.target.kind) \(entry.target.name.map { "\($0) (\(id))" } ?? id)"
            },
            Column("CHANGE", drop: 3) {
                Table.Cell($0.changeShown, $0.refused == nil ? nil : .careful)
            },
            Column("ACCOUNT", drop: 2, \.account), Column("FROM", .faint, drop: 1, \.address),
        ]
    }

    /// `paused: false → true`, `refused: not_allowed`.
    private var changeShown: String {
        if let refused { return "refused: \(refused)" }
        let old = before.flatMap { RawJSON($0) }?.members ?? []
        let new = after.flatMap { RawJSON($0) }?.members ?? []
        var names: [String] = []
        for member in old + new where !names.contains(member.name) { names.append(member.name) }
        let changes = names.map { name in
            let (from, to) = (Self.text(name, of: old), Self.text(name, of: new))
            if before == nil { return "\(name): \(to ?? "-")" }
            if after == nil { return "\(name): was \(from ?? "-")" }
            return "\(name): \(from ?? "-") → \(to ?? "-")"
        }
        return changes.isEmpty ? "-" : changes.joined(separator: ", ")
    }

    private static func text(_ name: String, of members: [RawJSON.Member]) -> String? {
        guard let value = members.first(where: { $0.name == name })?.value else { return nil }
        return value.string ?? "\(value)"
    }
}
