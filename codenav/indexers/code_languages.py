"""The tables of the languages other than Python: their definitions, imports and calls."""

from __future__ import annotations

from dataclasses import replace

from codenav.core.blocks import BlockKind
from codenav.indexers.code_native import (
    c_class,
    c_declaration,
    c_function,
    c_macro,
    c_typedef,
    cs_event,
    cs_local,
    cs_operator,
    cs_property,
    first_name,
    go_method,
    go_type,
    go_value,
    rust_impl,
    rust_mod,
)
from codenav.indexers.code_rules import ASSIGNMENT, CLASS, FUNCTION, TYPE, Rules, definition_reader, namespace
from codenav.indexers.code_script_readers import (
    js_default,
    js_namespace,
    js_pair,
    js_statement,
    js_variable,
    php_constants,
    php_statement,
    ruby_alias,
    ruby_call,
    ruby_singleton,
)

_JAVASCRIPT_DEFINITIONS = {
    "function_declaration": FUNCTION,
    "generator_function_declaration": FUNCTION,
    "function_expression": FUNCTION,
    "generator_function": FUNCTION,
    "class_declaration": CLASS,
    "class": CLASS,
    "method_definition": FUNCTION,
    "variable_declarator": js_variable,
    "field_definition": js_variable,
    "pair": js_pair,
    "expression_statement": js_statement,
    "export_statement": js_default,
}

JAVASCRIPT = Rules(
    name="javascript",
    extensions=".js .mjs .cjs .jsx",
    offers=True,
    package="tree_sitter_javascript",
    definitions=_JAVASCRIPT_DEFINITIONS,
    wrappers=frozenset({"export_statement", "lexical_declaration", "variable_declaration"}),
    containers=frozenset({"class_body", "object", "assignment_expression"}),
    imports=frozenset({"import_statement"}),
    conditionals=frozenset(
        {"if_statement", "for_statement", "for_in_statement", "while_statement", "try_statement", "switch_statement"}
    ),
    calls={"call_expression": ("function", "function"), "new_expression": ("constructor", "constructor")},
    comments=frozenset({"comment", "html_comment"}),
    attributes=frozenset({"decorator"}),
    ignored=frozenset({"empty_statement", "hash_bang_line"}),
)

TYPESCRIPT = replace(
    JAVASCRIPT,
    name="typescript",
    extensions=".ts .mts .cts",
    package="tree_sitter_typescript",
    entry="language_typescript",
    definitions={
        **{kind: reader for kind, reader in _JAVASCRIPT_DEFINITIONS.items() if kind != "field_definition"},
        "abstract_class_declaration": CLASS,
        "interface_declaration": CLASS,
        "enum_declaration": CLASS,
        "type_alias_declaration": TYPE,
        "function_signature": FUNCTION,
        "method_signature": FUNCTION,
        "abstract_method_signature": FUNCTION,
        "public_field_definition": js_variable,
        "module": js_namespace,
        "internal_module": js_namespace,
    },
    wrappers=frozenset({"export_statement", "lexical_declaration", "variable_declaration", "ambient_declaration"}),
    containers=frozenset(
        {"class_body", "object", "assignment_expression", "statement_block", "interface_body", "expression_statement"}
    ),
    imports=frozenset({"import_statement", "import_alias"}),
)

TSX = replace(TYPESCRIPT, entry="language_tsx", extensions=".tsx")

GO = Rules(
    name="go",
    extensions=".go",
    package="tree_sitter_go",
    extra="languages",
    definitions={
        "function_declaration": FUNCTION,
        "method_declaration": go_method,
        "method_elem": FUNCTION,
        "type_spec": go_type,
        "type_alias": TYPE,
        "const_spec": go_value,
        "var_spec": go_value,
    },
    wrappers=frozenset({"type_declaration", "const_declaration", "var_declaration", "var_spec_list"}),
    imports=frozenset({"import_declaration"}),
    calls={"call_expression": ("function", "function")},
    ignored=frozenset({"package_clause"}),
)


JAVA = Rules(
    name="java",
    extensions=".java",
    package="tree_sitter_java",
    extra="languages",
    definitions={
        "class_declaration": CLASS,
        "interface_declaration": CLASS,
        "enum_declaration": CLASS,
        "record_declaration": CLASS,
        "annotation_type_declaration": CLASS,
        "method_declaration": FUNCTION,
        "constructor_declaration": FUNCTION,
        "compact_constructor_declaration": FUNCTION,
        "annotation_type_element_declaration": FUNCTION,
        "field_declaration": first_name,
        "constant_declaration": first_name,
    },
    containers=frozenset(
        {"class_body", "interface_body", "enum_body", "enum_body_declarations", "annotation_type_body"}
    ),
    imports=frozenset({"import_declaration"}),
    calls={"method_invocation": ("object", "name"), "object_creation_expression": ("type", "type")},
    comments=frozenset({"line_comment", "block_comment"}),
    attributes=frozenset({"annotation", "marker_annotation"}),
    modifiers=frozenset({"modifiers"}),
    package_nodes=frozenset({"package_declaration"}),
    import_line="import {package}.{name};",
    only_public=True,
)

RUST = Rules(
    name="rust",
    extensions=".rs",
    offers=True,
    package="tree_sitter_rust",
    extra="languages",
    definitions={
        "function_item": FUNCTION,
        "function_signature_item": FUNCTION,
        "struct_item": CLASS,
        "union_item": CLASS,
        "enum_item": CLASS,
        "trait_item": CLASS,
        "impl_item": rust_impl,
        "type_item": TYPE,
        "associated_type": TYPE,
        "const_item": ASSIGNMENT,
        "static_item": ASSIGNMENT,
        "macro_definition": definition_reader(BlockKind.FUNCTION, ends=("name",)),
        "mod_item": rust_mod,
    },
    containers=frozenset({"declaration_list", "foreign_mod_item"}),
    imports=frozenset({"use_declaration", "extern_crate_declaration"}),
    calls={"call_expression": ("function", "function"), "macro_invocation": ("macro", "macro")},
    comments=frozenset({"line_comment", "block_comment"}),
    attributes=frozenset({"attribute_item"}),
    ignored=frozenset({"inner_attribute_item", "empty_statement", "shebang", "extern_modifier"}),
)

_C_DEFINITIONS = {
    "function_definition": c_function,
    "declaration": c_declaration,
    "field_declaration": c_declaration,
    "type_definition": c_typedef,
    "struct_specifier": c_class,
    "union_specifier": c_class,
    "enum_specifier": c_class,
    "preproc_def": c_macro,
    "preproc_function_def": FUNCTION,
}

C = Rules(
    name="c",
    extensions=".c .h",
    package="tree_sitter_c",
    extra="languages",
    definitions=_C_DEFINITIONS,
    containers=frozenset(
        {"preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef", "linkage_specification",
         "declaration_list", "field_declaration_list"}
    ),
    imports=frozenset({"preproc_include"}),
    calls={"call_expression": ("function", "function")},
    attributes=frozenset({"attribute_declaration"}),
    ignored=frozenset({"preproc_call"}),
)  # fmt: skip

CPP = replace(
    C,
    name="cpp",
    extensions=".cc .cpp .cxx .hh .hpp .hxx .c++ .h++ .ixx .inl .ipp .tpp .cu .cuh",
    package="tree_sitter_cpp",
    definitions={
        **_C_DEFINITIONS,
        "class_specifier": c_class,
        "template_instantiation": c_declaration,
        "alias_declaration": TYPE,
        "concept_definition": TYPE,
        "namespace_definition": namespace,
    },
    wrappers=frozenset({"template_declaration", "linkage_specification"}),
    imports=frozenset({"preproc_include", "using_declaration"}),
    calls={"call_expression": ("function", "function"), "new_expression": ("type", "type")},
    ignored=frozenset({"preproc_call", "access_specifier", "friend_declaration"}),
)


CSHARP = Rules(
    name="csharp",
    extensions=".cs",
    package="tree_sitter_c_sharp",
    extra="languages",
    definitions={
        "class_declaration": CLASS,
        "struct_declaration": CLASS,
        "interface_declaration": CLASS,
        "record_declaration": CLASS,
        "enum_declaration": CLASS,
        "delegate_declaration": TYPE,
        "method_declaration": FUNCTION,
        "constructor_declaration": FUNCTION,
        "destructor_declaration": cs_operator,
        "operator_declaration": cs_operator,
        "conversion_operator_declaration": cs_operator,
        "property_declaration": cs_property,
        "indexer_declaration": cs_property,
        "event_declaration": cs_property,
        "event_field_declaration": cs_event,
        "local_function_statement": cs_local,
        "field_declaration": first_name,
    },
    containers=frozenset(
        {"declaration_list", "namespace_declaration", "file_scoped_namespace_declaration", "preproc_if",
         "preproc_else", "preproc_elif"}
    ),
    imports=frozenset({"using_directive"}),
    calls={
        "invocation_expression": ("function", "function"),
        "object_creation_expression": ("type", "type"),
    },
    attributes=frozenset({"attribute_list"}),
    ignored=frozenset({"preproc_region", "preproc_endregion", "preproc_nullable", "preproc_pragma", "preproc_define"}),
    package_nodes=frozenset({"namespace_declaration", "file_scoped_namespace_declaration"}),
    import_line="using {package};",
    only_public=True,
)  # fmt: skip

_RUBY_METHOD = definition_reader(BlockKind.FUNCTION, "function", ends=("parameters", "name"))
_RUBY_CLASS = definition_reader(BlockKind.CLASS, "class", separator="::", ends=("superclass", "name"))

RUBY = Rules(
    name="ruby",
    extensions=".rb .rake .gemspec .ru",
    package="tree_sitter_ruby",
    extra="languages",
    definitions={
        "method": _RUBY_METHOD,
        "singleton_method": _RUBY_METHOD,
        "class": _RUBY_CLASS,
        "module": _RUBY_CLASS,
        "singleton_class": ruby_singleton,
        "assignment": definition_reader(BlockKind.ASSIGNMENT, name="left", body="right"),
        "call": ruby_call,
        "alias": ruby_alias,
    },
    containers=frozenset({"body_statement"}),
    conditionals=frozenset({"if", "unless", "while", "until", "case", "begin"}),
    calls={"call": ("receiver", "method")},
    ignored=frozenset({"empty_statement"}),
)


PHP = Rules(
    name="php",
    extensions=".php",
    package="tree_sitter_php",
    entry="language_php",
    extra="languages",
    definitions={
        "class_declaration": CLASS,
        "interface_declaration": CLASS,
        "trait_declaration": CLASS,
        "enum_declaration": CLASS,
        "function_definition": FUNCTION,
        "method_declaration": FUNCTION,
        "const_declaration": php_constants,
        "property_declaration": first_name,
        "expression_statement": php_statement,
    },
    containers=frozenset({"declaration_list", "enum_declaration_list", "namespace_definition", "compound_statement"}),
    imports=frozenset({"namespace_use_declaration"}),
    conditionals=frozenset(
        {"if_statement", "for_statement", "foreach_statement", "while_statement", "try_statement", "switch_statement"}
    ),
    calls={
        "function_call_expression": ("function", "function"),
        "member_call_expression": ("object", "name"),
        "nullsafe_member_call_expression": ("object", "name"),
        "scoped_call_expression": ("scope", "name"),
        "object_creation_expression": ("", ""),
    },
    attributes=frozenset({"attribute_list"}),
    ignored=frozenset({"php_tag", "php_end_tag", "declare_statement", "empty_statement"}),
    package_nodes=frozenset({"namespace_definition"}),
    import_line="use {function}{package}\\{name};",
)

LANGUAGE_RULES = {
    "javascript": JAVASCRIPT,
    "typescript": TYPESCRIPT,
    "tsx": TSX,
    "go": GO,
    "java": JAVA,
    "rust": RUST,
    "c": C,
    "cpp": CPP,
    "csharp": CSHARP,
    "ruby": RUBY,
    "php": PHP,
}
"""Language tables by the name of a file's language. A header (`.h`) is `c` there; `code_blocks` looks inside it."""

EXTENSIONS = {extension: name for name, rules in LANGUAGE_RULES.items() for extension in rules.extensions.split()}
