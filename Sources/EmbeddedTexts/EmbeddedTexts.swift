import Foundation
import PackagePlugin

/// Compiles the text files of a target into the program, as string literals in an enum `EmbeddedTexts`.
///
/// *Rejected*: SwiftPM's `embedInCode`, which writes arrays of numbers. For each 100 kB of text the compiler took 5 s, and
/// 7 s in release builds.
@main
struct EmbeddedTextsPlugin: BuildToolPlugin {
    /// The file name extensions of texts.
    private static let extensions: Set = ["css", "html", "js", "lua", "txt"]

    /// Takes the path of the Swift file to write, and the paths of the texts.
    ///
    /// A literal lacks the line break before its closing quotes, so each text keeps its own.
    private static let script = #####"""
        set -e
        output=$1
        shift
        {
            echo '/// The text files of this target.'
            echo 'enum EmbeddedTexts {'
            for file in "$@"; do
                printf 'static let %s = ####"""\n' "$(basename "$file" | tr .- __)"
                cat "$file"
                printf '\n"""####\n'
            done
            echo '/// The texts by file name.'
            echo 'static let byFile: [String: String] = ['
            for file in "$@"; do
                name=$(basename "$file")
                printf '"%s": %s,\n' "$name" "$(echo "$name" | tr .- __)"
            done
            printf ']\n}\n'
        } >"$output"
        """#####

    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        guard let module = target.sourceModule else { return [] }
        let texts = module.sourceFiles.map(\.url)
            .filter { Self.extensions.contains($0.pathExtension) }
            .sorted { $0.path < $1.path }
        let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedTexts.swift")
        return [
            .buildCommand(
                displayName: "Embedding the texts of \(target.name)",
                executable: URL(filePath: "/bin/sh"),
                arguments: ["-c", Self.script, "sh", output.path] + texts.map(\.path),
                inputFiles: texts,
                outputFiles: [output]
            )
        ]
    }
}
