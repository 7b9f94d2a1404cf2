import ArgumentParser
import Foundation
import JSONText
import PollerClient
import PollerWire

/// `pollerctl import`: the way back of `pollerctl export`.
struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Put back payments that have ended, of an archive of pollerctl export.",
        discussion: """
            pollerctl import november.ndjson
            zcat november.ndjson.gz | pollerctl import -

            They are closed as they were, with their events, and are found and read as before; nobody is \
            told anything, and nothing is polled. What is there already stays as it is, so the command may \
            be repeated, also after it was stopped. What had not ended is left out and counted: enqueue it. \
            Needs a key of an administrator.

            Lines that are wrong are named by their numbers. Of a file all lines are read before the first \
            part of it is sent, and each part is put back only where all of its lines are right.
            """
    )

    @Argument(help: "A file of lines as pollerctl export writes them, - for the standard input.")
    var file: String

    @Flag(help: "Restore lines that this cluster has not signed, too.")
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
                // What came before is there, and the next time it is passed.
                let done = total.restored + total.present
                if done > 0 { Terminal.printError("\(done) payments before are there.") }
                throw error
            }
            if server.json {
                Terminal.printLine(total.json)
                return
            }
            Terminal.printLine(
                "\(total.restored) payments put back, \(total.present) were there already"
            )
            if total.open > 0 {
                Terminal.printError(
                    "\(total.open) had not ended and were left out: watch them with pollerctl enqueue"
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

/// The lines of an archive in parts that the server takes, read as they are needed.
struct ArchiveLines {
    /// Some lines, and where they stand.
    struct Part {
        var lines: [String] = []
        /// Of each of them, from 1.
        var numbers: [Int] = []
    }

    /// Lines of a part: so that little is done twice where an answer is lost.
    private static let countMax = 500
    /// Bytes of a part, unless one line has more.
    private static let bytesMax = 2_097_152
    /// A line with its story; the server takes 8 MiB without.
    private static let readLineMax = 33_554_432
    private static let readBytes = 1_048_576
    private static let mistakesMax = 10

    private let handle: FileHandle
    private let file: String
    private var buffer: [UInt8] = []
    /// Where in it the next line begins.
    private var start = 0
    private var isAtEnd = false
    private var number = 0
    /// A line that begins the next part.
    private var deferred: [UInt8]?

    /// Opens a file; `-` is the standard input.
    init(of file: String) throws {
        self.file = file
        do {
            handle =
                file == "-"
                ? FileHandle.standardInput
                : try FileHandle(forReadingFrom: URL(fileURLWithPath: file))
        } catch {
            throw ValidationError(
                "\(file) cannot be read: check that it exists and who may read it"
            )
        }
    }

    /// What to say of lines that are wrong.
    static func mistakes(_ messages: [String]) -> ValidationError {
        ValidationError(
            "some lines are wrong, and nothing of their part was put back; correct them and repeat the "
                + "command:\n" + messages.joined(separator: "\n")
        )
    }

    /// The next lines, without empty ones; nil at the end.
    ///
    /// Errors: `ValidationError` that names those that are no JSON objects.
    mutating func nextPart() throws -> Part? {
        var part = Part()
        var bytes = 0
        var wrong: [String] = []
        while part.lines.count < Self.countMax, let line = try deferred ?? nextLine() {
            deferred = nil
            if line.allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }) { continue }
            guard RawJSON(line)?.kind == .object else {
                if wrong.count < Self.mistakesMax {
                    wrong.append("line \(number): it is no JSON object, or is cut off")
                }
                continue
            }
            let text = Self.restorable(line)
            // A part ends before a line with which it would be too long: one alone may have as much as is taken.
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

    /// What the server reads of a line; the story of its events it tells anew.
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
            // What was read is dropped once for many lines, not at each.
            buffer.removeFirst(start)
            start = 0
            searched = buffer.count
            guard searched <= Self.readLineMax else {
                throw ValidationError("\(file) line \(number + 1) is longer than 32 MiB")
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
