import ArgumentParser
import Foundation
import PollerClient
import PollerWire
import ProgramOutput

import struct PollerClient.Page

/// The output of `pollerctl list` other than a table: CSV, or a count with sums.
struct ListOutput: ParsableArguments {
    @Flag(help: "Print CSV (RFC 4180) with a header, for spreadsheets.")
    var csv = false

    @Option(
        help: ArgumentHelp(
            "A metadata key with its own CSV column; may be repeated (default: customer and email).",
            valueName: "name"
        )
    )
    var column: [String] = []

    @Flag(help: "Print the count and payment sums of the newest 10,000 matches.")
    var summary = false

    func validate() throws {
        guard !(csv && summary) else {
            throw ValidationError("--csv and --summary cannot be used together; remove one of them")
        }
        guard csv || column.isEmpty else { throw ValidationError("--column requires --csv") }
    }

    /// Writes a list as CSV page by page; without a limit, the whole list.
    func writeCSV(
        limit: Int?,
        page: (Int, String?) async throws -> Page<Watch>
    ) async throws {
        let csv = WatchCSV(metadata: column.isEmpty ? ["customer", "email"] : column)
        StandardStreams.write(csv.header)
        var (left, cursor) = (limit ?? .max, String?.none)
        repeat {
            let part = try await page(min(left, ServerOptions.pageMax), cursor)
            for watch in part.items { StandardStreams.write(csv.line(of: watch.value)) }
            left -= part.items.count
            cursor = part.next
        } while cursor != nil && left > 0
    }
}

/// The range of creation times: the options `--since` and `--until` of lists.
struct CreatedOptions: ParsableArguments {
    @Option(
        help: "Created since a day, a time or a duration ago: 2026-11-01, 2026-11-01T09:30:00Z, 7d."
    )
    var since: String?

    @Option(help: "Created until then; includes the whole day.")
    var until: String?

    /// The lower bound for the server.
    var after: String? { since }

    /// The upper bound for the server, which excludes it.
    ///
    /// For a day this is the start of the next one, so that the day is included.
    var before: String? {
        guard let until, let day = Self.day(until) else { return until }
        return day.addingTimeInterval(86_400).formatted(.iso8601.year().month().day())
    }

    /// A day in UTC; `nil` for a time or a duration.
    private static func day(_ text: String) -> Date? {
        guard text.utf8.count == 10 else { return nil }
        // The server rejects text that is not a day.
        return try? Date(text, strategy: .iso8601.year().month().day())
    }
}

extension Received<WatchSummary> {
    /// Prints the count and one sum per line.
    fileprivate func showSums() {
        let number = value.count.formatted(.number.locale(Locale(identifier: "en_US")))
        let count = value.isCapped ? "at least \(number)" : number
        var facts = Facts()
        facts.add("payments", .init(people: count, programs: "\(value.count)", .strong))
        if value.isCapped { facts.add("sums of", "the \(number) that were counted", .careful) }
        for sum in value.sums { facts.add("sum", Sums.text(sum.amount, sum.currency)) }
        facts.print()
    }

    func show(json isJSON: Bool) {
        if isJSON { Terminal.printJSON(json) } else { showSums() }
    }
}
