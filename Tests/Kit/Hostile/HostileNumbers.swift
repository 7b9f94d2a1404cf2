import Foundation

/// Values that a hostile upstream, client or archive writes in place of a number or a text.
package enum HostileNumbers {
    /// Numbers at the limits of the types that read them, and beyond.
    package static let numbers: [JSONTree] = [
        "-9223372036854775808", "9223372036854775807", "9223372036854775808",
        "18446744073709551616",
        "-9223372036854775809", "-1", "0", "1", "9007199254740991", "9007199254740992",
        "9007199254740993", "-9007199254740991", "-9007199254740992", "253402300800", "1e308",
        "-1e308", "1e400", "-1e400", "1e-400", "0.5", "-0.0", "1099.0",
    ].map { .raw($0) }

    /// The smallest set of values for each number of a large document.
    package static let extremes: [JSONTree] = [
        "-9223372036854775808", "9223372036854775807", "9007199254740991", "9007199254740993", "-1",
        "0", "1e308", "1e400", "0.5", "null",
    ].map { .raw($0) }

    /// Texts that look like numbers, and values of other types.
    package static let others: [JSONTree] = [
        .text("9223372036854775807"), .text("-9223372036854775808"), .text("NaN"), .text("inf"),
        .text(""),
        .raw("null"), .raw("true"), .array([]), .object([]),
    ]

    /// A changed document and its change.
    package struct Change: Sendable {
        /// The changed member and its value.
        package let name: String
        package let document: JSONTree
    }

    /// Returns changes of single numbers into some of `values`, and of all numbers into each of them.
    ///
    /// Every number is changed in every run: into a share of the values that changes from day to day, or into all of
    /// them if `POLLER_FUZZ_SECONDS` gives an hour.
    package static func changes(
        of document: JSONTree,
        to values: [JSONTree] = numbers + others
    ) -> [Change] {
        let paths = document.paths(where: \.isNumber)
        var changes: [Change] = []
        // No larger than the number of values, so that every number is changed into at least one of them.
        let share = min(values.count, 20)
        for (turn, value) in values.enumerated() {
            for (place, path) in paths.enumerated() where isTaken(turn + place, share: share) {
                let changed = document.replacing(path) { _ in value }
                changes.append(
                    Change(name: "\(document.name(of: path)) = \(value.json)", document: changed)
                )
            }
            changes.append(allNumbers(of: document, are: value))
        }
        return changes
    }

    /// Whether a run takes every case: `ops/test long`.
    package static let isLongRun =
        (ProcessInfo.processInfo.environment["POLLER_FUZZ_SECONDS"].flatMap { Double($0) } ?? 0)
        >= 3600

    private static let day = Int(Date().timeIntervalSince1970 / 86_400)

    /// Returns whether a short run takes the case with this number: one in `share`, which changes from day to day.
    package static func isTaken(_ number: Int, share: Int) -> Bool {
        isLongRun || (number + day) % share == 0
    }

    /// Returns changes of one text of a document into a number.
    ///
    /// A short run takes a share of the texts that changes from day to day.
    package static func numbersForTexts(in document: JSONTree) -> [Change] {
        let paths = document.paths { tree in
            if case .text = tree { true } else { false }
        }
        var changes: [Change] = []
        for (place, path) in paths.enumerated() where isTaken(place, share: 20) {
            let value = numbers[place % numbers.count]
            let changed = document.replacing(path) { _ in value }
            changes.append(
                Change(name: "\(document.name(of: path)) = \(value.json)", document: changed)
            )
        }
        return changes
    }

    /// Returns a document with one value in place of every number.
    package static func allNumbers(of document: JSONTree, are value: JSONTree) -> Change {
        let changed = document.paths(where: \.isNumber).reduce(document) { tree, path in
            tree.replacing(path) { _ in value }
        }
        return Change(name: "every number = \(value.json)", document: changed)
    }
}
