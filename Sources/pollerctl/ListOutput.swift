import ArgumentParser
import Foundation
import PollerClient
import PollerWire
import ProgramOutput

import struct PollerClient.Page

/// The output of `pollerctl list` in place of a table: a CSV file, or a count with sums.
struct ListOutput: ParsableArguments {
    @Flag(help: "Print CSV (RFC 4180) with a header, for spreadsheets.")
    var csv = false

    @Option(
        help: ArgumentHelp(
            "Metadata that get a column in CSV, besides the order; may be repeated. customer and email when absent.",
            valueName: "name"
        )
    )
    var column: [String] = []

    @Flag(help: "Print how many there are and the sums of their payments, of the newest 10,000.")
    var summary = false

    func validate() throws {
        guard !(csv && summary) else {
            throw ValidationError("--csv and --summary exclude each other")
        }
        guard csv || column.isEmpty else { throw ValidationError("--column belongs to --csv") }
    }

    /// Writes a list as CSV while it is read; the whole list without a limit.
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

/// The range of creation: the options `--since` and `--until` of lists.
struct CreatedOptions: ParsableArguments {
    @Option(help: "Created since a day, a time or an age: 2026-11-01, 2026-11-01T09:30:00Z, 7d.")
    var since: String?

    @Option(help: "Created until then; a day counts as a whole.")
    var until: String?

    /// The first bound, in the form that the server takes.
    var after: String? { since }

    /// The second bound, in the form that the server takes: before an instant.
    ///
    /// The last day of a range is part of it.
    var before: String? {
        guard let until, let day = Self.day(until) else { return until }
        return day.addingTimeInterval(86_400).formatted(.iso8601.year().month().day())
    }

    /// A day in UTC; `nil` for a time or an age.
    private static func day(_ text: String) -> Date? {
        guard text.utf8.count == 10 else { return nil }
        // The server judges a text that is no day.
        return try? Date(text, strategy: .iso8601.year().month().day())
    }
}

extension Received<WatchSummary> {
    /// Prints the count and the sums: as the server sent them, or one sum per line.
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
