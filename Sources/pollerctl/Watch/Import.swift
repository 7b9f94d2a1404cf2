import ArgumentParser
import Foundation
import JSONText
import PollerClient
import PollerWire

struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Restore closed payments from an archive of pollerctl export.",
        discussion: """
            Restored payments are closed, with their events, and can be found and read as before. \
            Nothing is delivered or polled. Existing payments stay as they are, so you can repeat the \
            command, also after an interruption. Open payments are skipped and counted; enqueue them \
            instead. Requires an admin key.

            Errors name the line number. All lines of a file are checked before the first batch is sent. \
            A batch is restored only if all of its lines are valid.

            Examples:

              pollerctl import november.ndjson
              zcat november.ndjson.gz | pollerctl import -
            """
    )

    @Argument(help: "An archive of pollerctl export, - for standard input.")
    var file: String

    @Flag(help: "Also restore lines that this cluster did not sign.")
    var trust = false

    @OptionGroup var server: ServerOptions

    func run() async throws {
        if file != "-" {
            var lines = try ArchiveLines(of: file)
            while try lines.nextPart() != nil {}
        }
        var lines = try ArchiveLines(of: file)
        try await server.perform { client in
            var total = RestoreResult()
            do {
                try await SlowRequestNotice.during(
                    server.json ? nil : client.url,
                    hasTimer: false
                ) { notice in
                    while let part = try lines.nextPart() {
                        total += try await send(part, client, notice)
                        if Terminal.isErrorInteractive {
                            Terminal.printError(
                                "\(total.restored + total.present + total.open) lines"
                            )
                        }
                    }
                }
            } catch {
                // Earlier batches stay restored, and the next run skips them.
                let done = total.restored + total.present
                if done > 0 {
                    Terminal.printError("\(done) payments were restored before the error.")
                }
                throw error
            }
            if server.json {
                Terminal.printLine(total.json)
                return
            }
            Terminal.printLine(
                "\(total.restored) payments restored, \(total.present) already present"
            )
            if total.open > 0 {
                Terminal.printError(
                    "\(total.open) open payments skipped: watch them with pollerctl enqueue"
                )
            }
        }
    }

    private func send(
        _ part: ArchiveLines.Part,
        _ client: PollerClient,
        _ notice: SlowRequestNotice
    ) async throws -> RestoreResult {
        do {
            return try await client.restore(part.lines, isTrusted: trust) {
                notice.reportRetry(after: $0)
            }
        } catch PollerError.problem(let problem) where !problem.items.isEmpty {
            var messages = problem.items.map { item in
                "line \(part.numbers[min(item.index, part.numbers.count - 1)]): \(item.detail)"
            }
            if problem.itemsTotal > messages.count {
                messages.append("… and \(problem.itemsTotal - messages.count) more")
            }
            throw ArchiveLines.mistakes(messages)
        }
    }
}

/// Reads the lines of an archive in batches that the server accepts.
struct ArchiveLines {
    /// A batch of lines with their numbers.
    struct Part {
        var lines: [String] = []
        /// The number of each line, from 1.
        var numbers: [Int] = []
    }

    /// Lines per batch; a lost response repeats at most one batch.
    private static let countMax = 500
    /// Bytes per batch, unless a single line is larger.
    private static let bytesMax = 2_097_152
    /// A line with its timeline; the server accepts 8 MiB without it.
    private static let readLineMax = 33_554_432
    private static let readBytes = 1_048_576
    private static let mistakesMax = 10

    private let handle: FileHandle
    private let file: String
    private var buffer: [UInt8] = []
    /// The start of the next line in ``buffer``.
    private var start = 0
    private var isAtEnd = false
    private var number = 0
    /// The first line of the next batch.
    private var deferred: [UInt8]?

    /// Opens a file; `-` is standard input.
    init(of file: String) throws {
        self.file = file
        do {
            handle =
                file == "-"
                ? FileHandle.standardInput
                : try FileHandle(forReadingFrom: URL(fileURLWithPath: file))
        } catch {
            throw ValidationError(
                "cannot read \(file): check that it exists and is readable"
            )
        }
    }

    /// The error for invalid lines.
    static func mistakes(_ messages: [String]) -> ValidationError {
        ValidationError(
            "some lines are invalid, and their batch was not restored; correct them and repeat the "
                + "command:\n" + messages.joined(separator: "\n")
        )
    }

    /// Returns the next batch without empty lines; `nil` at the end.
    ///
    /// Throws `ValidationError` with the lines that are not JSON objects.
    mutating func nextPart() throws -> Part? {
        var part = Part()
        var bytes = 0
        var wrong: [String] = []
        while part.lines.count < Self.countMax, let line = try deferred ?? nextLine() {
            deferred = nil
            if line.allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }) { continue }
            guard RawJSON(line)?.kind == .object else {
                if wrong.count < Self.mistakesMax {
                    wrong.append("line \(number): not a JSON object, or truncated")
                }
                continue
            }
            let text = Self.restorable(line)
            // A line that would exceed the limit starts the next batch; a single line may exceed it.
            if bytes + text.utf8.count > Self.bytesMax, !part.lines.isEmpty {
                deferred = line
                break
            }
            bytes += text.utf8.count
            part.lines.append(text)
            part.numbers.append(number)
        }
        guard wrong.isEmpty else { throw Self.mistakes(wrong) }
        return part.lines.isEmpty ? nil : part
    }

    /// The members that the server restores; it rebuilds the timeline from the events.
    private static func restorable(_ line: [UInt8]) -> String {
        guard let json = RawJSON(line), let watch = json.member("watch"),
            let events = json.member("events")
        else { return String(decoding: line, as: UTF8.self) }
        let digest = json.member("digest").map { ",\"digest\":\($0)" } ?? ""
        return "{\"watch\":\(watch),\"events\":\(events)\(digest)}"
    }

    private mutating func nextLine() throws -> [UInt8]? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0A) {
                defer { start = end + 1 }
                number += 1
                return Array(buffer[start..<end])
            }
            // Consumed bytes are removed once per read rather than once per line.
            buffer.removeFirst(start)
            start = 0
            searched = buffer.count
            guard searched <= Self.readLineMax else {
                throw ValidationError(
                    "\(file) line \(number + 1) is longer than 32 MiB; check that it ends with a line break"
                )
            }
            if isAtEnd {
                guard !buffer.isEmpty else { return nil }
                defer { buffer = [] }
                number += 1
                return buffer
            }
            let read = try handle.read(upToCount: Self.readBytes) ?? Data()
            isAtEnd = read.isEmpty
            buffer += read
        }
    }
}
