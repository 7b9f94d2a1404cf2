import ArgumentParser
import Foundation
import JSONText
import ProgramOutput
import SecretFiles

/// Writes to the two outputs, with colour where a person looks.
enum Terminal {
    /// What colour says.
    enum Colour: String {
        case good = "32"
        case careful = "33"
        case bad = "31"
        case faint = "2"
        case strong = "1"
    }

    /// Whether a person reads the standard output.
    static let isInteractive = isatty(STDOUT_FILENO) == 1
    /// Whether a person reads the error output.
    static let isErrorInteractive = isatty(STDERR_FILENO) == 1

    /// The columns of the terminal that the standard output is now; nil when it is none.
    static var width: Int? { size.map { Int(clamping: $0.ws_col) } }
    /// Its lines.
    static var height: Int? { size.map { Int(clamping: $0.ws_row) } }

    /// Asked for each time: windows are drawn larger and smaller.
    private static var size: winsize? {
        var size = winsize()
        guard unsafe ioctl(STDOUT_FILENO, UInt(clamping: TIOCGWINSZ), &size) == 0, size.ws_col > 0
        else {
            return nil
        }
        return size
    }

    /// Whether the terminal takes commands: for colour, and to be drawn anew.
    static let takesCommands =
        isInteractive && ProcessInfo.processInfo.environment["TERM"] != "dumb"

    private static let hasColour =
        takesCommands && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty

    /// Writes a line at once, so that a pipe gets each event as it happens.
    static func printLine(_ line: String) {
        StandardStreams.printLine(line)
    }

    /// Writes JSON as one line (``line(of:)``).
    static func printJSON(_ json: String) { printLine(line(of: json)) }

    /// JSON as one line, with escapes for characters that are invisible or change the direction of the text: the
    /// same document to a program.
    static func line(of json: String) -> String {
        plain(json: RawJSON(unchecked: json).compacted.description)
    }

    /// The same JSON, with `\u202e` for what ``clean(_:)`` escapes.
    static func plain(json: String) -> String {
        var plain = ""
        for scalar in json.unicodeScalars {
            switch scalar.properties.generalCategory {
            case _ where scalar.isASCII && scalar.value != 0x7f: plain.unicodeScalars.append(scalar)
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
                for unit in UTF16.encode(scalar) ?? .init() {
                    let digits = String(unit, radix: 16)
                    plain += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            default: plain.unicodeScalars.append(scalar)
            }
        }
        return plain
    }

    /// Writes cells as a line of its own: with spaces and colour for people, with tabs for programs.
    ///
    /// What a terminal has no room for goes on below, cell by cell.
    static func printLine(_ cells: [Table.Cell]) {
        guard isInteractive else {
            return printLine(cells.map(\.plain).joined(separator: "\t"))
        }
        var (line, columns) = ("", 0)
        for cell in cells where !cell.text.isEmpty {
            let isFirst = columns == 0
            if !isFirst, columns + 2 + cell.text.columns > width ?? .max {
                printLine(line)
                (line, columns) = ("", 0)
            }
            line += (isFirst ? "" : "  ") + coloured(cell.text, cell.colour)
            columns += (isFirst ? 0 : 2) + cell.text.columns
        }
        printLine(line)
    }

    /// Writes to the standard output what is no line, such as the terminal's own commands.
    static func write(_ text: String) {
        // The program may be ending because the terminal is closed.
        StandardStreams.tryWrite(text)
    }

    /// Puts lines on a terminal in place of what was there, as much of them as it has room for.
    static func redraw(_ lines: [String]) {
        let (width, height) = (width ?? .max, height ?? .max)
        let shown = lines.prefix(height).map { "\(cut($0, to: width))\u{1B}[K" }
        // Home, each line with the rest of its row cleared, then everything below. No end of line behind the
        // last: it would push the first out of sight.
        let text = "\u{1B}[H" + shown.joined(separator: "\r\n") + "\u{1B}[J"
        StandardStreams.write(text)
    }

    /// A line that is no wider than so many columns; its colours take none.
    static func cut(_ line: String, to width: Int) -> String {
        var (cut, columns, isCommand) = ("", 0, false)
        for character in line {
            if isCommand || character == "\u{1B}" {
                isCommand = character != "m"
                cut.append(character)
            } else if columns + character.columns <= width {
                columns += character.columns
                cut.append(character)
            }
        }
        return cut
    }

    /// Text in lines of at most so many columns, parted between words; a word that is longer stays whole.
    static func wrapped(_ text: String, within width: Int?) -> [String] {
        guard let width, text.columns > width else { return [text] }
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            if !line.isEmpty, line.columns + 1 + word.columns > width {
                lines.append(line)
                line = String(word)
            } else {
                line += (line.isEmpty ? "" : " ") + word
            }
        }
        return lines + [line]
    }

    /// Writes a message to the error output, with the command's name.
    static func printError(_ message: String) {
        let lines = message.split(separator: "\n").map { clean(String($0)) }
        writeError("pollerctl: \(lines.joined(separator: "\n  "))\n")
    }

    /// Replaces the current line of the error output; for progress on a terminal.
    static func showProgress(_ text: String, isLast: Bool) {
        guard isErrorInteractive else { return }
        writeError("\r\(text)\u{1B}[K\(isLast ? "\n" : "")")
    }

    /// Text in colour, on a terminal that wants it.
    static func coloured(_ text: String, _ colour: Colour?) -> String {
        guard hasColour, let colour else { return text }
        return "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m"
    }

    /// Text without what steers the terminal or its reader: control characters are `?`, and what nobody
    /// sees, or turns the line around, stands as its escape (`\u{202E}`).
    static func clean(_ text: String) -> String {
        var clean = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control: clean.unicodeScalars.append("?")
            case .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
                clean += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            default: clean.unicodeScalars.append(scalar)
            }
        }
        return clean
    }

    private static func writeError(_ text: String) {
        StandardStreams.writeError(text)
    }
}

extension Terminal {
    /// The secret in the variable `name`, or in the file that `name` with `_FILE` names; nil when
    /// neither is set.
    ///
    /// Says what is wrong with a file, and throws the exit status for it.
    static func secret(_ name: String, _ environment: [String: String]) throws -> String? {
        func value(_ name: String) -> String? {
            environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        guard let path = value(name + "_FILE") else {
            guard let text = value(name) else { return nil }
            if let objection = WrittenValue.problem(in: text) {
                printError("\(name) \(objection)")
                throw ExitCode(64)
            }
            return text
        }
        guard value(name) == nil else {
            printError("\(name) and \(name)_FILE are both set\nLeave one of them out.")
            throw ExitCode(64)
        }
        do throws(SecretFile.Unusable) {
            let file = try SecretFile(path: path)
            if let warning = file.warning { printError("warning: \(warning)") }
            return file.text
        } catch {
            printError("\(name)_FILE: \(error)")
            // EX_NOINPUT of sysexits.h.
            throw ExitCode(66)
        }
    }
}
