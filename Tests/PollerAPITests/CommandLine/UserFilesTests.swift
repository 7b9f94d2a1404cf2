import Foundation
import Testing

@testable import pollerctl

@Suite("User files")
struct UserFilesTests {
    @Test(
        "ids are read with any line ending, with or without a byte order mark",
        arguments: [
            "src_a\nsrc_b\n", "src_a\r\nsrc_b\r\n", "src_a\rsrc_b\r", "\u{FEFF}src_a\nsrc_b",
            "\u{FEFF}src_a\r\n\r\n  src_b\t\r\n", "# today\r\nsrc_a\rsrc_b",
        ]
    )
    func ids(text: String) throws {
        try withFile(Data(text.utf8)) { path in
            let list = try SourceList(arguments: [], files: [path], needsPrefix: true)
            #expect(list.ids == ["src_a", "src_b"])
        }
    }

    @Test("an error names the line, and UTF-16 is reported")
    func mistakes() throws {
        try withFile(Data("src_a\rsrc b\r".utf8)) { path in
            let error = #expect(throws: (any Error).self) {
                try SourceList(arguments: [], files: [path], needsPrefix: true)
            }
            #expect(error.map { "\($0)" }?.contains("line 2") == true)
        }
        try withFile(Data([0xFF, 0xFE, 0x73, 0, 0x0A, 0])) { path in
            let error = #expect(throws: (any Error).self) {
                try SourceList(arguments: [], files: [path], needsPrefix: true)
            }
            #expect(error.map { "\($0)" }?.contains("UTF-16") == true)
        }
    }

    @Test("the listener folder is in XDG_STATE_HOME, else in HOME")
    func folders() throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("home-\(UUID())")
            .path
        defer { try? FileManager.default.removeItem(atPath: root) }
        let home = ["HOME": root]
        #expect(try ListenFiles(home).folder.path == "\(root)/.local/state/poller")
        let state = ["HOME": root, "XDG_STATE_HOME": "\(root)/state"]
        #expect(try ListenFiles(state).folder.path == "\(root)/state/poller")
        // A relative path is ignored.
        let relative = ["HOME": root, "XDG_STATE_HOME": "state"]
        #expect(try ListenFiles(relative).folder.path == "\(root)/.local/state/poller")
    }

    private func withFile(_ data: Data, _ body: (String) throws -> Void) throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("ids-\(UUID())")
        try data.write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        try body(url.path)
    }
}
