import ArgumentParser
import Foundation
import JSONText
import ProgramOutput
import SecretFiles

/// Writes to standard output and standard error, with colour on terminals.
enum Terminal {
    /// The meaning of a colour.
    enum Colour: String {
        case good = "32"
        case careful = "33"
        case bad = "31"
        case faint = "2"
        case strong = "1"
    }

    /// Whether standard output is a terminal.
    static let isInteractive = isatty(STDOUT_FILENO) == 1
    /// Whether standard error is a terminal.
    static let isErrorInteractive = isatty(STDERR_FILENO) == 1

    /// The current width of the terminal; `nil` if standard output is not a terminal.
    static var width: Int? { size.map { Int(clamping: $0.ws_col) } }
    /// The current height of the terminal.
    static var height: Int? { size.map { Int(clamping: $0.ws_row) } }

    /// Read each time, because windows are resized.
    private static var size: winsize? {
        var size = winsize()
        guard unsafe ioctl(STDOUT_FILENO, UInt(clamping: TIOCGWINSZ), &size) == 0, size.ws_col > 0
        else {
            return nil
        }
        return size
    }

    /// Whether the terminal supports escape sequences, for colour and redrawing.
    static let takesCommands =
        isInteractive && ProcessInfo.processInfo.environment["TERM"] != "dumb"

    private static let hasColour =
        takesCommands && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty

    /// Writes a line without buffering, so that a pipe receives each event immediately.
    static func printLine(_ line: String) {
        StandardStreams.printLine(line)
    }

    /// Writes JSON as one line (``line(of:)``).
    static func printJSON(_ json: String) { printLine(line(of: json)) }

    /// JSON as one line, with escapes for characters that are invisible or change the text direction.
    ///
    /// The document is equivalent for programs.
    static func line(of json: String) -> String {
        plain(json: RawJSON(unchecked: json).compacted.description)
    }

    /// The same JSON, with `\u202e`-style escapes for the characters that ``clean(_:)`` escapes.
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

    /// Writes cells as one line: with spaces and colour on a terminal, else with tabs.
    ///
    /// Cells that do not fit move to the next line.
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

    /// Writes text without a line end, such as escape sequences, to standard output.
    static func write(_ text: String) {
        // Errors are ignored, because the terminal may have been closed.
        StandardStreams.tryWrite(text)
    }

    /// Redraws the terminal with as many of the lines as fit.
    static func redraw(_ lines: [String]) {
        let (width, height) = (width ?? .max, height ?? .max)
        let shown = lines.prefix(height).map { "\(cut($0, to: width))\u{1B}[K" }
        // Go home, write each line and clear the rest of its row, then clear everything below. A line end after
        // the last line would scroll the first one out of view.
        let text = "\u{1B}[H" + shown.joined(separator: "\r\n") + "\u{1B}[J"
        StandardStreams.write(text)
    }

    /// Truncates a line to a width; colour sequences take no columns.
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

    /// Wraps text between words to a width; a longer word stays whole.
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

    /// Writes a message to standard error, prefixed with the command's name.
    static func printError(_ message: String) {
        let lines = message.split(separator: "\n").map { clean(String($0)) }
        writeError("pollerctl: \(lines.joined(separator: "\n  "))\n")
    }

    /// Replaces the current line of standard error, to show progress on a terminal.
    static func showProgress(_ text: String, isLast: Bool) {
        guard isErrorInteractive else { return }
        writeError("\r\(text)\u{1B}[K\(isLast ? "\n" : "")")
    }

    /// Colours text if the terminal supports it and `NO_COLOR` is not set.
    static func coloured(_ text: String, _ colour: Colour?) -> String {
        guard hasColour, let colour else { return text }
        return "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m"
    }

    /// Text that cannot control the terminal or mislead its reader: control characters become `?`, and
    /// invisible or direction-changing characters become escapes (`\u{202E}`).
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
    /// Returns the secret in the variable `name`, or in the file that `name_FILE` names; `nil` if
    /// neither is set.
    ///
    /// Prints an error and throws its exit status if the secret or the file is unusable.
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
            printError("\(name) and \(name)_FILE are both set\nUnset one of them.")
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
